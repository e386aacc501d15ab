package emulator_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"flashsale/localstack/deploy/emulator"
	"flashsale/localstack/deploy/relay"
	"flashsale/shared/config"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/webhook"
)

// thawed is how long a function that was frozen may take for its next answer.
const thawed = 2 * time.Second

// A talk is an event that makes a function use its servers, a new one at each turn, and a part of
// the answer that proves it.
type talk struct {
	event func(t *testing.T, turn int) string
	want  string
}

// talks are by function. Only migrate is left out: it connects anew each time.
func talks(s *shop, saleID uint32, itemID int64) map[string]talk {
	always := func(event string) func(*testing.T, int) string { return func(*testing.T, int) string { return event } }
	shopper := func(t *testing.T, name string) map[string]string {
		t.Helper()
		return map[string]string{"Authorization": "Bearer " + token(t, s, name)}
	}
	of := map[string]string{"saleId": fmt.Sprint(saleID)}
	path := fmt.Sprintf("/api/flash-sales/%d", saleID)
	return map[string]talk{
		"purchase": {func(t *testing.T, turn int) string { return purchase(t, s, itemID, fmt.Sprintf("frozen-%d", turn)) }, `"statusCode":202`},
		"orderstatus": {func(t *testing.T, _ int) string {
			return request(t, http.MethodGet, path+"/my-order", "/api/flash-sales/{saleId}/my-order", of, shopper(t, "nobody"), "")
		}, `NO_ORDER`},
		"saleinfo": {func(t *testing.T, _ int) string {
			return request(t, http.MethodGet, path, "/api/flash-sales/{saleId}", of, nil, "")
		}, `"statusCode":200`},
		"payment":     {func(t *testing.T, turn int) string { return unknownPayment(t, s, saleID, turn) }, `"statusCode":204`},
		"orderwriter": {func(t *testing.T, turn int) string { return batch(t, saleID, itemID, turn) }, `{"batchItemFailures":[]}`},
		"expirer":     {always(`{"passes":1}`), `"expired":`},
		"stockkeeper": {always(`{"passes":1}`), `"loaded":`},
		"saleadmin":   {always(fmt.Sprintf(`{"action":"report","saleId":%d}`, saleID)), `"writerLag":`},
	}
}

// unknownPayment is for an order so old that its row will not come: it is stored for a refund.
func unknownPayment(t *testing.T, s *shop, saleID uint32, turn int) string {
	t.Helper()
	scheme, err := webhook.New(config.Webhook{
		Secrets: []config.Secret{config.Secret(s.secret.PaymentSecrets)}, Signature: config.StandardWebhooks, Tolerance: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	long := now.Add(-time.Hour)
	body := fmt.Sprintf(`{"type":"payment.succeeded","timestamp":%q,"data":{"paymentId":"p-%d-%d","orderId":%q,"amount":"1.00","currency":"EUR"}}`,
		long.UTC().Format(time.RFC3339), saleID, turn, order(t, saleID, "payer", long).String())
	return request(t, http.MethodPost, "/api/flash-sales/payments", "/api/flash-sales/payments", nil,
		scheme.Sign(fmt.Sprintf("msg-%d-%d", saleID, turn), now, []byte(body)), body)
}

func order(t *testing.T, saleID uint32, user string, at time.Time) sale.OrderID {
	t.Helper()
	mint, err := sale.NewMint([]byte("0123456789abcdef"), func() time.Time { return at })
	if err != nil {
		t.Fatal(err)
	}
	return mint.New(sale.ID(saleID), user)
}

// batch has an order, for Redis and PostgreSQL, and what is none, for the dead letters in Kafka.
func batch(t *testing.T, saleID uint32, itemID int64, turn int) string {
	t.Helper()
	now, user := time.Now(), fmt.Sprintf("batch-%d", turn)
	placed := sale.Placed{OrderID: order(t, saleID, user, now), SaleID: sale.ID(saleID), ItemID: sale.ItemID(itemID), UserID: user, ReservedAt: now}
	var records []orderlog.Record
	for i, value := range [][]byte{orderlog.Encode(placed), []byte("nonsense")} {
		records = append(records, orderlog.Record{Topic: "orders", Offset: int64(2*turn + i), Timestamp: now, Value: value})
	}
	return string(orderlog.EncodeBatch(records))
}

// TestFreeze stops programs as Lambda does between two invocations. Meanwhile all their connections
// are cut, and in the next freezes those to one server die without a word. FREEZE=30s and longer
// are for runs of their own.
func TestFreeze(t *testing.T) {
	t.Parallel()
	s := furnish(t)
	freeze := 1500 * time.Millisecond // clients trust a connection that was used within a second
	if text := os.Getenv("FREEZE"); text != "" {
		var err error
		if freeze, err = time.ParseDuration(text); err != nil {
			t.Fatalf("FREEZE=%q is no duration", text)
		}
	}
	saleID, itemID := sell(t, s, 100)
	for name, talk := range talks(s, saleID, itemID) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := function(t, s, name)
			environment, servers, err := relay.Environment("127.0.0.1", f.Env)
			if err != nil {
				t.Fatal(err)
			}
			f.Env = environment
			cut := func() (connections int) {
				for _, r := range servers {
					connections += r.Cut()
				}
				return connections
			}
			t.Cleanup(func() {
				for _, r := range servers {
					r.Close()
				}
			})
			e := start(t, f)
			turn := 0
			next := func() string { turn++; return talk.event(t, turn) }
			whole := func(answer string) bool { return strings.Contains(answer, talk.want) }
			if got := invoke(t, e, next()); !whole(got) {
				t.Fatalf("before: got %s, want %s in it", got, talk.want)
			}
			for _, harm := range []struct {
				what string
				do   func() (connections int)
			}{
				{"all were cut", cut},
				{"Redis' were lost", servers["REDIS_URL"].Lose},
				{"PostgreSQL's were lost", servers["DATABASE_URL"].Lose},
				{"Kafka's were lost", servers["KAFKA_BROKERS"].Lose},
			} {
				took, answer := asleep(t, e, next(), freeze, harm.do)
				if answer == "" {
					continue // it has no connection of that kind
				}
				t.Logf("%-12s answered %4d ms after a freeze: of its connections %s", name, took.Milliseconds(), harm.what)
				if took > thawed {
					t.Errorf("of its connections %s: answered after %s, want at most %s", harm.what, took, thawed)
				}
				// What was sent into a lost connection to Kafka is unknown until its time is over. That is
				// refused, and the next one goes through.
				if !whole(answer) && harm.what == "Kafka's were lost" {
					answer = invoke(t, e, next())
				}
				if !whole(answer) {
					t.Errorf("of its connections %s: got %s, want %s in it", harm.what, answer, talk.want)
				}
			}
		})
	}
}

// asleep stops the program, does harm, and sends the event once the program goes on. The answer is
// empty if there was nothing to harm.
func asleep(t *testing.T, e *emulator.Environment, event string, freeze time.Duration, harm func() int) (took time.Duration, answer string) {
	t.Helper()
	program, ok := e.Program()
	if !ok {
		t.Fatal("the program is gone")
	}
	if err := program.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	harmed := harm()
	if harmed > 0 {
		time.Sleep(freeze)
	}
	if err := program.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if harmed == 0 {
		return 0, ""
	}
	began := time.Now()
	text, err := e.Invoke(t.Context(), []byte(event))
	if err != nil {
		text = []byte(err.Error())
	}
	return time.Since(began), string(text)
}
