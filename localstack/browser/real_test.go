package browser_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/shoptest"
)

// realServers are the parts of the shared servers that belong to one test: state that outlives
// a development server.
func realServers(t *testing.T) []string {
	t.Helper()
	return []string{
		"REDIS_URL=" + servers.RedisDatabase(t), "KAFKA_BROKERS=" + strings.Join(servers.KafkaBrokers(t), ","),
		"DATABASE_URL=" + servers.Database(t, migrations.Hash(), shoptest.Migrate),
		"KAFKA_ORDERS_TOPIC=" + servers.Topic(t, "browser-orders", 3), "KAFKA_DEAD_LETTER_TOPIC=" + servers.Topic(t, "browser-letters", 1),
		"KAFKA_EVENTS_TOPIC=" + servers.Topic(t, "browser-events", 1),
		fmt.Sprintf("KAFKA_GROUP=browser-%d", servers.SaleID()), "DEV_TICK=200ms",
	}
}

// freePort is a port that a server can come back to.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close()
	return port
}
