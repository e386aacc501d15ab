package saleadmin_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"flashsale/functions/saleadmin"
	"flashsale/localstack/servers"
	"flashsale/migrations"
	"flashsale/shared/config"
	"flashsale/shared/orderlog"
	"flashsale/shared/recovery"
	"flashsale/shared/sale"
	"flashsale/shared/shoptest"
	"flashsale/shared/stock"
)

// An office is the handler under test with what stands behind it.
type office struct {
	*shoptest.Shop
	h               *saleadmin.Handler
	kafka           *kgo.Client
	orders, letters string // topics
}

func open(t *testing.T) *office {
	t.Helper()
	shop := shoptest.OpenShop(t, servers.RedisURL(t), servers.Database(t, migrations.Hash(), shoptest.Migrate))
	o := &office{Shop: shop, orders: servers.Topic(t, "orders", 2), letters: servers.Topic(t, "letters", 1)}
	o.kafka = shoptest.Kafka(t, servers.KafkaBrokers(t), o.orders, o.letters)
	o.h = &saleadmin.Handler{
		Orders: shop.Orders, Stock: shop.Stock, Admits: true, Log: slog.New(slog.DiscardHandler), Now: shop.Now,
		Keeper: &recovery.Keeper{
			Orders: shop.Orders, Stock: shop.Stock, Log: orderlog.NewProducer(o.kafka, o.orders),
			Backlog: orderlog.Backlog(o.kafka, "group-of-"+o.orders, o.orders),
		},
		Kafka: o.kafka, OrdersTopic: o.orders, DeadLetterTopic: o.letters,
		Estate: saleadmin.Estate{
			Config: saleadmin.Config{
				Kafka:    config.Kafka{Brokers: servers.KafkaBrokers(t), OrdersTopic: o.orders, DeadLetterTopic: o.letters, EventsTopic: o.letters},
				Postgres: config.Postgres{PoolSize: 4},
			},
			Redis: shop.Redis, Pool: shop.Pool,
		},
	}
	return o
}

// says runs an action; its request is a format of JSON.
func (o *office) says(t *testing.T, format string, args ...any) string {
	t.Helper()
	text, err := o.h.Invoke(t.Context(), fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return string(text)
}

func want(t *testing.T, got, format string, args ...any) {
	t.Helper()
	if want := fmt.Sprintf(format, args...); got != want {
		t.Errorf("answer:\ngot  %s\nwant %s", got, want)
	}
}

// wantRefusal wants a code and a message.
func wantRefusal(t *testing.T, answer, code string) {
	t.Helper()
	var got struct{ Error, Message string }
	if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Error != code || got.Message == "" {
		t.Errorf("answer: got %s, want %s with a message", answer, code)
	}
}

// file is a sale file; more replaces nothing but adds fields.
func file(sl sale.Sale, opens, closes string, quantity int) string {
	return fmt.Sprintf(`{"id":%d,"name":"Drop","opensAt":"%s","closesAt":"%s","paymentWindow":"10m","grace":"1m",`+
		`"items":[{"id":%d,"productId":55,"name":"Shoe","quantity":%d,"price":"19.99","currency":"EUR"}]}`,
		sl.ID, opens, closes, sl.Items[0].ID, quantity)
}

// create makes an open sale of that many units; loaded if it says so.
func (o *office) create(t *testing.T, quantity int, load bool) sale.Sale {
	t.Helper()
	sl := o.Sale(quantity)
	want(t, o.says(t, `{"action":"create","sale":%s}`, file(sl, "-1m", "+1h", quantity)), `{"saleId":%d,"state":"CREATED","created":true}`, sl.ID)
	if load {
		want(t, o.says(t, `{"action":"load","saleId":%d}`, sl.ID), `{"saleId":%d,"state":"OPEN","loaded":true}`, sl.ID)
	}
	return sl
}

// sell makes a confirmed order.
func (o *office) sell(t *testing.T, sl sale.Sale, user string) sale.Placed {
	t.Helper()
	p := o.Reserve(t, sl, 0, user)
	w := o.Write(t, p)
	err := o.Stock.Confirm(t.Context(), stock.Of(&sl), []stock.Confirmation{{OrderID: p.OrderID, UserID: user, PayBy: w[0].PayBy}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// moment is a time as answers have it.
func moment(t time.Time) string {
	text, err := t.UTC().MarshalText()
	if err != nil {
		panic(err) // years of four digits
	}
	return string(text)
}

func itemText(sl sale.Sale) string { return strconv.FormatInt(int64(sl.Items[0].ID), 10) }
