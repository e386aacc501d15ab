package relay

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// Environment puts relays, listening at host, before the servers on this machine's loopback that
// the variables name. It returns the variables with the relays' addresses, and the relays by the
// names REDIS_URL, DATABASE_URL and KAFKA_BROKERS. Servers elsewhere are left as they are.
func Environment(host string, variables []string) ([]string, map[string]*Relay, error) {
	relays := make(map[string]*Relay)
	changed := make([]string, 0, len(variables))
	for _, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		target, open := value, OpenKafka
		switch name {
		case "REDIS_URL", "DATABASE_URL":
			u, err := url.Parse(value)
			if err != nil {
				return nil, relays, fmt.Errorf("relay: %s is no URL", name) // the error would quote a password
			}
			target, open = u.Host, Open
		case "KAFKA_BROKERS":
		default:
			changed = append(changed, variable)
			continue
		}
		if onLoopback(target) {
			r, err := open(net.JoinHostPort(host, "0"), target)
			if err != nil {
				return nil, relays, err
			}
			relays[name] = r
			variable = name + "=" + strings.Replace(value, target, r.Address(), 1)
		}
		changed = append(changed, variable)
	}
	return changed, relays, nil
}

func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || net.ParseIP(host).IsLoopback())
}
