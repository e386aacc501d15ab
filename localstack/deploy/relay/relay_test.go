package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"flashsale/localstack/deploy/relay"
	"flashsale/localstack/servers"
)

// echo is a server that sends back what it is sent.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(conn, conn)
				_ = conn.Close()
			}()
		}
	}()
	return listener.Addr().String()
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say sends a word and returns what comes back within that time.
func say(t *testing.T, conn net.Conn, wait time.Duration) (string, error) {
	t.Helper()
	_ = conn.SetDeadline(time.Now().Add(wait))
	if _, err := conn.Write([]byte("word")); err != nil {
		return "", err
	}
	back := make([]byte, 4)
	n, err := io.ReadFull(conn, back)
	return string(back[:n]), err
}

func TestRelay(t *testing.T) {
	t.Parallel()
	const patience, moment = 10 * time.Second, 50 * time.Millisecond
	for name, harm := range map[string]func(*relay.Relay) int{"cut": (*relay.Relay).Cut, "lost": (*relay.Relay).Lose} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := relay.Open("127.0.0.1:0", echo(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(r.Close)
			old := dial(t, r.Address())
			if got, err := say(t, old, patience); got != "word" {
				t.Fatalf("got %q, %v", got, err)
			}
			if got := harm(r); got != 1 {
				t.Errorf("got %d connections, want 1", got)
			}
			// A cut connection says so; a lost one leaves its user waiting.
			if got, err := say(t, old, moment); err == nil || errors.Is(err, os.ErrDeadlineExceeded) != (name == "lost") {
				t.Errorf("an old connection: got %q, %v", got, err)
			}
			if got, err := say(t, dial(t, r.Address()), patience); got != "word" {
				t.Errorf("a new connection: got %q, %v", got, err)
			}
		})
	}
}

// TestKafka: a client that was told one address only never leaves the relay.
func TestKafka(t *testing.T) {
	t.Parallel()
	topic := servers.Topic(t, "relay", 1)
	r, err := relay.OpenKafka("127.0.0.1:0", servers.KafkaBrokers(t)[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(r.Address()), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatalf("produce: %v", err)
	}
	if got := client.PollFetches(ctx).NumRecords(); got != 1 {
		t.Errorf("got %d records, want 1", got)
	}
	metadata, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range metadata.Brokers {
		if got := net.JoinHostPort(b.Host, fmt.Sprint(b.Port)); got != r.Address() {
			t.Errorf("the broker is at %s, want the relay's %s", got, r.Address())
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	server := echo(t)
	got, relays, err := relay.Environment("127.0.0.1", []string{
		"REDIS_URL=redis://" + server + "/3", "DATABASE_URL=postgres://u:p@db.example:5432/d", "KAFKA_BROKERS=" + server, "OTHER=" + server,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, r := range relays {
			r.Close()
		}
	})
	if len(relays) != 2 {
		t.Fatalf("got %d relays, want those of Redis and Kafka", len(relays))
	}
	want := []string{
		"REDIS_URL=redis://" + relays["REDIS_URL"].Address() + "/3", "DATABASE_URL=postgres://u:p@db.example:5432/d",
		"KAFKA_BROKERS=" + relays["KAFKA_BROKERS"].Address(), "OTHER=" + server,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, _, err := relay.Environment("127.0.0.1", []string{"REDIS_URL=redis://:secret@h:port"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v, want an error without the password", err)
	}
}
