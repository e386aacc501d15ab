package orderlog

import (
	"errors"
	"sync/atomic"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A recreated is a client's hook that lets it write to a topic that was deleted
// and made again. The client knows the first one by its id and would refuse all
// others until the environment ends.
type recreated struct {
	client     *kgo.Client
	forgetting atomic.Bool
}

// OnNewClient is called before the client is used. A client that is made with the
// same options, only to read, comes later and is not the one that writes.
func (r *recreated) OnNewClient(client *kgo.Client) {
	if r.client == nil {
		r.client = client
	}
}

// OnProduceRecordUnbuffered meets each record when its outcome is known. Whoever
// gave it hears of a failure; the next one finds the new topic.
func (r *recreated) OnProduceRecordUnbuffered(rec *kgo.Record, err error) {
	if !errors.Is(err, kerr.UnknownTopicID) || !r.forgetting.CompareAndSwap(false, true) {
		return
	}
	topic := rec.Topic
	go func() { // it waits for what the client is doing right now, this call too
		defer r.forgetting.Store(false)
		r.client.PurgeTopicsFromProducing(topic)
	}()
}
