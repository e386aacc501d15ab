package connect_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flashsale/shared/config"
	"flashsale/shared/sigv4"
	"flashsale/shared/sigv4/sigv4test"
)

// A fakeMSK checks the signature as MSK does. Its own check is ours; the signer is the
// client library's, so two implementations meet.
type fakeMSK struct {
	addresses []string
	card      identityCard
	good, bad atomic.Int64 // signatures
	life      atomic.Int64 // of a login, ms; 0 for as long as the connection
}

func newFakeMSK(t *testing.T) *fakeMSK {
	t.Helper()
	f := &fakeMSK{card: newCard(t)}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(f.card.server))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	f.addresses = broker.ListenAddrs()
	broker.ControlKey(int16(kmsg.SASLHandshake), func(r kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		answer := r.ResponseKind().(*kmsg.SASLHandshakeResponse)
		answer.SupportedMechanisms = []string{"AWS_MSK_IAM"}
		if r.(*kmsg.SASLHandshakeRequest).Mechanism != "AWS_MSK_IAM" {
			answer.ErrorCode = kerr.UnsupportedSaslMechanism.Code
		}
		return answer, nil, true
	})
	broker.ControlKey(int16(kmsg.SASLAuthenticate), func(r kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		answer := r.ResponseKind().(*kmsg.SASLAuthenticateResponse)
		if err := checkMSK(r.(*kmsg.SASLAuthenticateRequest).SASLAuthBytes); err != nil {
			f.bad.Add(1)
			answer.ErrorCode = kerr.SaslAuthenticationFailed.Code
			return answer, nil, true
		}
		f.good.Add(1)
		answer.SessionLifetimeMillis = f.life.Load()
		answer.SASLAuthBytes = []byte(`{"version":"2020_10_22","request-id":"x"}`)
		return answer, nil, true
	})
	return f
}

// client logs in with that key of the role's.
func (f *fakeMSK) client(t *testing.T, key string, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	as := role
	as.SecretAccessKey = config.Secret(key)
	cfg := config.Kafka{Brokers: f.addresses, TLS: true, Auth: config.IAM, AWS: as}
	return newKafka(t, cfg, append(opts, kgo.DialTLSConfig(&tls.Config{RootCAs: f.card.roots}))...)
}

func ping(t *testing.T, client *kgo.Client) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	return client.Ping(ctx)
}

func TestKafkaByIAM(t *testing.T) {
	t.Parallel()
	f := newFakeMSK(t)
	if err := ping(t, f.client(t, sigv4test.Secret)); err != nil || f.good.Load() == 0 || f.bad.Load() != 0 {
		t.Errorf("log in: %v, %d good and %d bad signatures", err, f.good.Load(), f.bad.Load())
	}
	before := f.good.Load()
	if err := ping(t, f.client(t, sigv4test.Secret)); err != nil || f.good.Load() == before {
		t.Errorf("a further client: %v, it must sign for itself", err)
	}
	if err := ping(t, f.client(t, "another key")); !errors.Is(err, kerr.SaslAuthenticationFailed) || f.bad.Load() == 0 {
		t.Errorf("with another key: got %v, want SASL_AUTHENTICATION_FAILED", err)
	}
}

// connections counts those that a client opens.
type connections struct{ opened atomic.Int64 }

func (c *connections) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err == nil {
		c.opened.Add(1)
	}
}

// MSK lets a login live for a time, and then closes the connections of those that have not signed again.
func TestKafkaSignsAgain(t *testing.T) {
	t.Parallel()
	const life = 1_200 // the client signs a second before the end
	f, seen := newFakeMSK(t), new(connections)
	f.life.Store(life)
	client := f.client(t, sigv4test.Secret, kgo.WithHooks(seen))
	for range 2 { // the first learns which brokers there are
		if err := ping(t, client); err != nil {
			t.Fatal(err)
		}
	}
	f.life.Store(0)
	opened, before := seen.opened.Load(), f.good.Load()
	time.Sleep(life * time.Millisecond)
	for range 2 {
		if err := ping(t, client); err != nil {
			t.Errorf("when the login's time is over: %v", err)
		}
	}
	if got := f.good.Load() - before; got != 1 || f.bad.Load() != 0 || seen.opened.Load() != opened {
		t.Errorf("got %d more good and %d bad signatures over %d new connections, want one over the old connection",
			got, f.bad.Load(), seen.opened.Load()-opened)
	}
}

// checkMSK compares a payload of AWS_MSK_IAM with a signature of our own.
func checkMSK(payload []byte) error {
	var got map[string]string
	if err := json.Unmarshal(payload, &got); err != nil {
		return err
	}
	at, err := time.Parse("20060102T150405Z", got["x-amz-date"])
	if err != nil || time.Since(at).Abs() > time.Minute {
		return errors.New("the date is not of now")
	}
	s := sigv4.New(sigv4test.Region, sigv4test.KeyID, sigv4test.Secret, sigv4test.Session, func() time.Time { return at })
	want := s.Token("kafka-cluster", got["host"], url.Values{"Action": {"kafka-cluster:Connect"}})
	if got["host"] != "127.0.0.1" || got["action"] != "kafka-cluster:Connect" || got["version"] != "2020_10_22" ||
		!strings.HasSuffix(want, "&X-Amz-Signature="+got["x-amz-signature"]) {
		return errors.New("the signature is wrong")
	}
	return nil
}
