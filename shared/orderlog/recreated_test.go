package orderlog_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
)

// TestTopicMadeAgain deletes a topic that a client has written to, and makes it again: the client
// must write to the new one, as many as use it.
func TestTopicMadeAgain(t *testing.T) {
	t.Parallel()
	topic := newTopic(t, "again", 1)
	client := newClient(t, servers.KafkaBrokers(t))
	producer := orderlog.NewProducer(client, topic)
	if err := producer.Publish(t.Context(), purchase("u0")); err != nil {
		t.Fatal(err)
	}
	admin := kadm.NewClient(newClient(t, servers.KafkaBrokers(t)))
	if _, err := admin.DeleteTopic(t.Context(), topic); err != nil {
		t.Fatal(err)
	}
	for { // it goes in a while
		_, err := admin.CreateTopic(t.Context(), 1, 1, nil, topic)
		if err == nil {
			break
		}
		if !errors.Is(err, kerr.TopicAlreadyExists) {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for {
				err := producer.Publish(ctx, purchase("u"))
				if err == nil {
					return
				}
				if ctx.Err() != nil {
					t.Errorf("the new topic is never written: %v", err)
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	all.Wait()
	if got := len(contents(t, topic)); got < 20 {
		t.Errorf("the new topic has %d records, want 20", got)
	}
}
