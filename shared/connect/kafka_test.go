package connect_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
	"flashsale/shared/config"
	"flashsale/shared/connect"
)

func newKafka(t *testing.T, cfg config.Kafka, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := connect.Kafka(cfg, opts...)
	if err != nil {
		t.Fatalf("Kafka: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

func TestKafkaAnswers(t *testing.T) {
	t.Parallel()
	client := newKafka(t, config.Kafka{Brokers: servers.KafkaBrokers(t)})
	if err := client.Ping(t.Context()); err != nil {
		t.Errorf("Ping: %v", err)
	}
}

func TestKafkaOptions(t *testing.T) {
	t.Parallel()
	plain := newKafka(t, config.Kafka{Brokers: []string{"h:1"}})
	if id, tls := plain.OptValue(kgo.ClientID), plain.OptValue(kgo.DialTLS); id != "flash-sale" || tls != false {
		t.Errorf("client id %v, TLS %v; want flash-sale without TLS", id, tls)
	}
	secured := newKafka(t, config.Kafka{Brokers: []string{"h:1"}, TLS: true}, kgo.ClientID("mine"))
	if id, tls := secured.OptValue(kgo.ClientID), secured.OptValue(kgo.DialTLS); id != "mine" || tls != true {
		t.Errorf("client id %v, TLS %v; want the caller's id and TLS", id, tls)
	}
	if _, err := connect.Kafka(config.Kafka{Brokers: []string{"h:1"}}, kgo.SeedBrokers()); err == nil {
		t.Error("a client without brokers was made")
	}
}

func TestKafkaThatHangs(t *testing.T) {
	t.Parallel()
	client := newKafka(t, config.Kafka{Brokers: []string{silentServer(t)}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := client.Ping(ctx); err == nil || ctx.Err() == nil {
		t.Errorf("Ping: %v, want an error by the deadline", err)
	}
}
