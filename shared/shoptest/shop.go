package shoptest

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/connect"
	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
)

// A Shop is a shelf with a database behind it.
type Shop struct {
	*Shelf
	Pool   *pgxpool.Pool
	Orders *order.Store

	ahead atomic.Int64 // of the real time, nanoseconds
}

// Migrate is for servers.Database, with migrations.Hash as the key.
func Migrate(ctx context.Context, url string) error {
	_, err := migrations.Up(ctx, url)
	return err
}

// OpenShop connects as the functions do. The database must be migrated.
func OpenShop(t testing.TB, redisURL, databaseURL string) *Shop {
	t.Helper()
	s := &Shop{Shelf: OpenShelf(t, redisURL), Pool: Pool(t, databaseURL)}
	s.Orders = order.New(s.Pool)
	s.Orders.Now = s.Now
	return s
}

// Pool connects to a database.
func Pool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := connect.Postgres(t.Context(), config.Postgres{URL: config.Secret(url), ExecMode: config.CacheStatement, PoolSize: 4})
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	t.Cleanup(pool.Close)
	return pool
}

// Now is the time of the database and of the handlers. Redis has its own.
func (s *Shop) Now() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }

// Passes lets time pass.
func (s *Shop) Passes(d time.Duration) { s.ahead.Add(int64(d)) }

// Create writes the sale into the database.
func (s *Shop) Create(t testing.TB, sl sale.Sale) {
	t.Helper()
	if _, err := s.Orders.CreateSale(t.Context(), sl, fmt.Appendf(nil, `{"id":%d}`, sl.ID), "test"); err != nil {
		t.Fatalf("shoptest: %v", err)
	}
}

// Open creates and loads a sale with an item for each quantity and publishes
// the catalog.
func (s *Shop) Open(t testing.TB, quantities ...int) sale.Sale {
	t.Helper()
	sl := s.Sale(quantities...)
	s.Create(t, sl)
	s.Load(t, sl)
	return sl
}

// Load loads a sale and publishes the catalog.
func (s *Shop) Load(t testing.TB, sl sale.Sale) {
	t.Helper()
	keeper := &recovery.Keeper{Orders: s.Orders, Stock: s.Stock}
	if _, err := keeper.Load(t.Context(), sl.ID); err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	if err := s.Orders.PublishCatalog(t.Context(), s.Stock.PutCatalog); err != nil {
		t.Fatalf("shoptest: %v", err)
	}
}

// Write makes rows without telling Redis: a writer that died after its commit.
func (s *Shop) Write(t testing.TB, placed ...sale.Placed) []order.Written {
	t.Helper()
	written, err := s.Orders.WriteBatch(t.Context(), placed)
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	return written
}

// Row is an order's row; its State is empty if there is none.
func (s *Shop) Row(t testing.TB, id sale.OrderID) order.Order {
	t.Helper()
	rows, err := s.Orders.Orders(t.Context(), []sale.OrderID{id})
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	return rows[id]
}

// WantRow checks an order's state and, where it is REJECTED, the reason.
func (s *Shop) WantRow(t testing.TB, id sale.OrderID, state order.State, reason string) {
	t.Helper()
	if got := s.Row(t, id); got.State != state || got.Reason != reason {
		t.Errorf("row of %s: got %q %q, want %q %q", id, got.State, got.Reason, state, reason)
	}
}

// WantSold checks an item's count of sold units.
func (s *Shop) WantSold(t testing.TB, sl sale.Sale, item, want int) {
	t.Helper()
	report, err := s.Orders.Report(t.Context(), sl.ID)
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	if got := report.Items[item].Sold; got != want {
		t.Errorf("sold of item %d: got %d, want %d", item, got, want)
	}
}

// Kafka makes a client with the functions' options. It waits until the brokers
// can serve the topics: they hear of a new one later than the controller.
func Kafka(t testing.TB, brokers []string, topics ...string) *kgo.Client {
	t.Helper()
	client, err := connect.Kafka(config.Kafka{Brokers: brokers}, orderlog.ClientOptions()...)
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	t.Cleanup(client.Close)
	for range 600 {
		var ends kadm.ListedOffsets
		if ends, err = kadm.NewClient(client).ListEndOffsets(t.Context(), topics...); err == nil {
			err = ends.Error()
		}
		if err == nil {
			return client
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("shoptest: topics %v: %v", topics, err)
	return nil
}

// Records reads all that a topic has.
func Records(t testing.TB, brokers []string, topic string) []*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	missing, err := orderlog.DeadLetterCount(ctx, client, topic)
	if err != nil {
		t.Fatalf("shoptest: %v", err)
	}
	var records []*kgo.Record
	for int64(len(records)) < missing {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			t.Fatalf("shoptest: read %s: %v", topic, err)
		}
		records = append(records, fetches.Records()...)
	}
	return records
}
