package shop_test

import (
	"encoding/json"
	"fmt"
	"maps"
	mrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
)

// A life is one shopper's: the orders, and money that was answered 503.
type life struct {
	*world
	user, token string
	random      *mrand.Rand
	mutex       sync.Mutex
	placed      []sale.Placed
	waiting     []money
}

// money is a webhook that the provider sends.
type money struct {
	webhookID, paymentID, kind, amount string
	order                              sale.OrderID
}

func (w *world) shopper(name string) *life {
	r := httptest.NewRecorder()
	w.users.ServeHTTP(r, httptest.NewRequest(http.MethodPost, "/dev/login", strings.NewReader(`{"user":"`+name+`"}`)))
	var answer struct{ Token string }
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil || answer.Token == "" {
		w.t.Fatalf("login: %s", r.Body)
	}
	return &life{world: w, user: name, token: answer.Token}
}

// buy reserves as a purchase does; the record is delivered by a step of its own.
// There is a unit for everybody, so it is false only if one was lost.
func (l *life) buy() bool {
	id := l.mint.New(l.sale.ID, l.user)
	item := l.sale.Items[0].ID
	got, err := l.Stock.Reserve(l.t.Context(), stock.Of(&l.sale), stock.Attempt{OrderID: id, UserID: l.user, ItemID: item})
	if err != nil {
		l.t.Errorf("reserve: %v", err)
	}
	switch got.Outcome {
	case stock.Reserved:
	case stock.Already:
		return true
	default:
		l.t.Errorf("reserve: got %v, want a unit", got.Outcome)
		return false
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.placed = append(l.placed, sale.Placed{OrderID: id, SaleID: l.sale.ID, ItemID: item, UserID: l.user, ReservedAt: got.ReservedAt})
	return true
}

func (l *life) orders() []sale.Placed {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.placed)
}

// deliver hands the shopper's records to the writer.
func (l *life) deliver() {
	var records []orderlog.Record
	for i, p := range l.orders() {
		records = append(records, orderlog.Record{Topic: "settle", Offset: int64(i), Timestamp: time.Now(), Value: orderlog.Encode(p)})
	}
	if answer := l.invoke("orderwriter", orderlog.EncodeBatch(records)); string(answer) != `{"batchItemFailures":[]}` {
		l.t.Errorf("orderwriter: %s", answer)
	}
}

func (l *life) invoke(function string, event []byte) []byte {
	answer, err := l.Functions()[function](l.t.Context(), event)
	if err != nil {
		l.t.Errorf("%s: %v", function, err)
	}
	return answer
}

// call is an HTTP call; it returns the status.
func (l *life) call(function, method, body string, headers, parameters map[string]string) int {
	event, err := json.Marshal(map[string]any{
		"httpMethod": method, "path": "/x", "headers": headers, "pathParameters": parameters, "body": body,
		"requestContext": map[string]string{"requestId": "r"},
	})
	if err != nil {
		l.t.Error(err)
	}
	var answer struct{ StatusCode int }
	if err := json.Unmarshal(l.invoke(function, event), &answer); err != nil {
		l.t.Error(err)
	}
	return answer.StatusCode
}

// pay sends the webhook; one that is answered 503 is sent again later.
func (l *life) pay(m money) {
	body := fmt.Sprintf(`{"type":%q,"timestamp":%q,"data":{"paymentId":%q,"orderId":%q,"amount":%q,"currency":"EUR"}}`,
		m.kind, time.Now().UTC().Format(time.RFC3339Nano), m.paymentID, m.order, m.amount)
	switch status := l.call("payment", http.MethodPost, body, l.scheme.Sign(m.webhookID, time.Now(), []byte(body)), nil); status {
	case http.StatusNoContent:
	case http.StatusServiceUnavailable:
		l.mutex.Lock()
		l.waiting = append(l.waiting, m)
		l.mutex.Unlock()
	default:
		l.t.Errorf("payment: got %d, want 204 or 503", status)
	}
}

func (l *life) cancel() {
	for _, p := range l.orders() {
		status := l.call("orderstatus", http.MethodDelete, "", map[string]string{"Authorization": "Bearer " + l.token}, map[string]string{"orderId": p.OrderID.String()})
		if !slices.Contains([]int{200, 409, 503}, status) {
			l.t.Errorf("cancel: got %d, want 200, 409 or 503", status)
		}
	}
}

// expire lets the time of the shopper's orders be over and calls the expirer.
func (l *life) expire() {
	for _, p := range l.orders() {
		_, err := l.Pool.Exec(l.t.Context(), `UPDATE flash_sale_order SET expires_at = now() - interval '1 hour'
			WHERE id = $1 AND status = 'PENDING'`, p.OrderID.String())
		if err != nil {
			l.t.Errorf("expire: %v", err)
		}
	}
	l.invoke("expirer", []byte(`{"passes":1}`))
}

// steps are a random story's; the payments have ids that tell them apart.
func (l *life) steps() []func() {
	orders := l.orders()
	last := orders[len(orders)-1].OrderID
	event := func(number int, payment, kind, amount string) func() {
		m := money{fmt.Sprintf("%s-%s-%d", last, payment, number), last.String() + payment, kind, amount, last}
		return func() { l.pay(m) }
	}
	steps := []func(){l.deliver}
	upTo := func(n int, step func(i int) func()) {
		for i := range l.random.IntN(n + 1) {
			steps = append(steps, step(i))
		}
	}
	always := func(step func()) func(int) func() { return func(int) func() { return step } }
	upTo(2, always(l.deliver))
	upTo(2, func(i int) func() { return event(i, "right", "payment.succeeded", "19.99") })
	upTo(1, func(int) func() { return event(0, "right", "payment.succeeded", "19.99") }) // the same event again
	upTo(1, func(int) func() { return event(0, "other", "payment.succeeded", "19.99") })
	upTo(1, func(i int) func() { return event(i, "wrong", "payment.succeeded", "19.98") })
	upTo(1, func(i int) func() { return event(i, "failed", "payment.failed", "19.99") })
	upTo(2, always(l.cancel))
	upTo(1, always(l.expire))
	l.random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	return steps
}

// Thousands of random stories, each told by three at once, several beside each
// other: whatever the interleaving, each order has one end, each unit is counted
// once, and each payment is used once. A shopper has two stories, and in the
// second a new order if the first one has ended unpaid.
func TestSettleInAnySequence(t *testing.T) {
	t.Parallel()
	const worlds, lives, stories, beside = 2, 500, 2, 4
	for range worlds {
		seed := mrand.Uint64()
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			w := open(t, lives)
			all := make([]*life, lives)
			next := make(chan *life, lives)
			for i := range all {
				all[i] = w.shopper(fmt.Sprintf("u%d", i))
				all[i].random = mrand.New(mrand.NewPCG(seed, uint64(i)))
				next <- all[i]
			}
			close(next)
			var group sync.WaitGroup
			for range beside {
				group.Go(func() {
					for l := range next {
						for range stories {
							if l.buy() {
								l.live()
							}
						}
					}
				})
			}
			group.Wait()
			for _, l := range all {
				for _, m := range l.waiting {
					l.pay(m)
				}
			}
			all[0].invoke("expirer", []byte(`{"passes":1}`))
			w.settled(all)
		})
	}
}

// live runs a story by three hands at once.
func (l *life) live() {
	const hands = 3
	steps := l.steps()
	var story sync.WaitGroup
	for hand := range hands {
		story.Go(func() {
			for i := hand; i < len(steps); i += hands {
				steps[i]()
			}
		})
	}
	story.Wait()
}

// settled checks what must hold when all is quiet.
func (w *world) settled(all []*life) {
	w.t.Helper()
	var report struct {
		Items []struct {
			Sold, Stock, Drift int
			Holds, Orders      map[string]int
			Conserved          bool
		}
		Unconfirmed, ReleasesWaiting, RefundsDueUnknown int
	}
	if err := w.Call(w.t.Context(), "saleadmin", map[string]any{"action": "report", "saleId": w.sale.ID}, &report); err != nil {
		w.t.Fatal(err)
	}
	it := report.Items[0]
	active := it.Orders["PENDING"] + it.Orders["PAID"]
	if it.Sold != active || it.Stock != w.sale.Items[0].Quantity-active || it.Holds["confirmed"] != active || !it.Conserved ||
		it.Drift != 0 || report.Unconfirmed != 0 || report.ReleasesWaiting != 0 || report.RefundsDueUnknown != 0 {
		w.t.Errorf("report: %+v, want %d sold, held and confirmed, and nothing waiting", report, active)
	}
	rows := 0
	for _, n := range it.Orders {
		rows += n
	}
	placed := 0
	for _, l := range all {
		placed += len(l.placed)
	}
	if rows != placed {
		w.t.Errorf("rows: got %v, want %d", it.Orders, placed)
	}
	w.t.Logf("%d orders: %v", placed, it.Orders)

	none := map[string]string{
		// Of placing nothing is left once the shop was told, unless it has a row of its own.
		"orders whose events are not their end": `
			SELECT o.id::text FROM flash_sale_order o LEFT JOIN order_event e ON e.order_id = o.id AND e.kind NOT IN ('placed', 'refund_due')
			GROUP BY o.id, o.status HAVING COALESCE(string_agg(e.kind, ' ' ORDER BY e.id), 'pending') <> lower(o.status)`,
		"payments that are not used exactly once": `
			SELECT payment_id FROM payment WHERE type = 'payment.succeeded'
			GROUP BY payment_id HAVING count(*) FILTER (WHERE outcome IN ('paid', 'refund_due')) <> 1`,
		"orders that are PAID without money, or not PAID with it": `
			SELECT o.id::text FROM flash_sale_order o
			WHERE (status = 'PAID') <> EXISTS (SELECT FROM payment p WHERE p.order_id = o.id AND p.outcome = 'paid')`,
		"refunds that the shop was not told of once": `
			SELECT p.webhook_id FROM payment p WHERE refund_due AND 1 <> (SELECT count(*) FROM order_event e
				WHERE e.order_id = p.order_id AND e.kind = 'refund_due' AND e.payload->>'paymentId' = p.payment_id)`,
		"failed payments that changed something": `SELECT webhook_id FROM payment WHERE (type = 'payment.failed') <> (outcome = 'failed')`,
	}
	for _, what := range slices.Sorted(maps.Keys(none)) {
		found, err := w.Pool.Query(w.t.Context(), none[what])
		if err != nil {
			w.t.Fatal(err)
		}
		ids, err := pgx.CollectRows(found, pgx.RowTo[string])
		if err != nil || len(ids) > 0 {
			w.t.Errorf("%s: got %d, %v, such as %v, want none", what, len(ids), err, ids[:min(3, len(ids))])
		}
	}
}
