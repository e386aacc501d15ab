package rival

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
)

// partitions of the topic, as many as ours has.
const partitions = 3

// openTopic makes a topic of the rival's own and waits until it can be written.
func openTopic(ctx context.Context, brokers []string) (topic string, drop func(), err error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.MetadataMinAge(50*time.Millisecond))
	if err != nil {
		return "", nil, err
	}
	admin := kadm.NewClient(client)
	topic = "bench-" + rand.Text()
	drop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, _ = admin.DeleteTopics(ctx, topic)
		admin.Close()
	}
	if err := servers.MakeTopic(ctx, admin, topic, partitions); err != nil {
		drop()
		return "", nil, err
	}
	return topic, drop, nil
}
