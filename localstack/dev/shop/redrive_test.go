package shop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/localstack/servers"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// consume hands what the orders topic has, and gets, to the writer until stop is
// closed and all of it is read.
func (l *life) consume(stop <-chan struct{}) {
	reader, err := kgo.NewClient(kgo.SeedBrokers(servers.KafkaBrokers(l.t)...), kgo.FetchMaxWait(50*time.Millisecond),
		kgo.ConsumeTopics(l.world.orders), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		l.t.Error(err)
		return
	}
	defer reader.Close()
	for read, stopping := int64(0), false; l.t.Context().Err() == nil; {
		if stopping {
			if all, err := orderlog.DeadLetterCount(l.t.Context(), l.Kafka, l.world.orders); err != nil || read >= all {
				if err != nil {
					l.t.Errorf("count records: %v", err)
				}
				return
			}
		}
		var records []orderlog.Record
		ctx, cancel := context.WithTimeout(l.t.Context(), 200*time.Millisecond)
		polled := reader.PollRecords(ctx, 100).Records()
		cancel()
		for _, r := range polled {
			records = append(records, orderlog.Record{Topic: r.Topic, Offset: r.Offset, Timestamp: r.Timestamp, Key: r.Key, Value: r.Value})
		}
		read += int64(len(records))
		if len(records) > 0 {
			if answer := l.invoke("orderwriter", orderlog.EncodeBatch(records)); string(answer) != `{"batchItemFailures":[]}` {
				l.t.Errorf("orderwriter: %s", answer)
			}
		}
		select {
		case <-stop:
			stopping = true
		default:
		}
	}
}

// Expiry, cancel, redelivery and redrive of each order, fifty times in parallel,
// give its unit back once. The first half of the orders has a row before; of the
// others the dead letter is all there is.
func TestRedriveBesideEveryEnd(t *testing.T) {
	t.Parallel()
	const lives, times = 6, 50
	w := open(t, lives)
	letters := orderlog.NewDeadLetters(w.Kafka, w.letters)
	all := make([]*life, lives)
	for i := range all {
		all[i] = w.shopper(fmt.Sprintf("u%d", i))
		all[i].buy()
		if i < lives/2 {
			all[i].deliver()
		}
		if err := letters.Put(t.Context(), orderlog.Record{Topic: w.orders, Key: []byte("k"), Value: orderlog.Encode(all[i].placed[0])}, "test"); err != nil {
			t.Fatal(err)
		}
	}
	redrive := func() {
		var got struct{ Redriven, Skipped int }
		err := w.Call(t.Context(), "saleadmin", map[string]any{"action": "redrive", "saleId": w.sale.ID}, &got)
		if err != nil || got.Redriven != lives || got.Skipped != 0 {
			t.Errorf("redrive: got %+v, %v, want %d", got, err, lives)
		}
	}
	stop := make(chan struct{})
	var writer, hands sync.WaitGroup
	writer.Go(func() { all[0].consume(stop) })
	for n, l := range all {
		for i := range times {
			end := []func(){l.cancel, l.expire}[(n+i/10)%2] // each life has both, and begins with another one
			step := []func(){end, l.deliver, end, func() { l.invoke("expirer", []byte(`{"passes":1}`)) }, end}[i%5]
			if i == times/2 {
				step = redrive
			}
			hands.Go(step)
		}
	}
	hands.Wait()
	close(stop)
	writer.Wait()
	w.settled(all)

	// A redrive after all that brings nobody back.
	for _, l := range all {
		l.cancel()
	}
	before := w.states(all)
	redrive()
	again := make(chan struct{})
	close(again)
	all[0].consume(again)
	if after := w.states(all); after != before {
		t.Errorf("orders after one more redrive: got %s, want %s", after, before)
	}
	w.settled(all)
}

// states is each order's end.
func (w *world) states(all []*life) string {
	w.t.Helper()
	var states string
	for _, l := range all {
		for _, p := range l.placed {
			row, err := w.Orders.Orders(w.t.Context(), []sale.OrderID{p.OrderID})
			if err != nil {
				w.t.Fatal(err)
			}
			text, _ := json.Marshal(row[p.OrderID].State) // a string always marshals
			states += string(text)
		}
	}
	return states
}
