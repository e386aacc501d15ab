package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/shared/sale"
)

// comeback is promise 2: within it, whatever is unsold can be bought again.
const comeback = 60 * time.Second

// Budget is how long a purchase may take, with what a busy machine may add.
const Budget = 2*time.Second + time.Second

// A Row is what a drill found.
type Row struct {
	Name, Fault     string
	Shoppers, Units int

	Acknowledged int            // orders answered with 202
	Active       int            // rows that are PENDING or PAID
	Ended        int            // rows that are EXPIRED or CANCELLED
	Lost         int            // acknowledged, and no row
	Rejected     int            // rows that are REJECTED
	False        int            // acknowledged, and the row is REJECTED
	Why          map[string]int // reasons of the REJECTED rows
	Explained    int            // false 202s that the fault explains, at the most
	Oversold     int            // active rows above the quantity, or above one for a shopper
	Stranded     int            // units that nobody can buy
	Recovery     time.Duration
	Slowest      time.Duration // purchase
	Unhindered   time.Duration // the same, less what the machine was late meanwhile
	Busy         string        // the shop's normal business: 95th percentile, as a multiple of quiet

	Broken []string // promises
}

// report is what saleadmin tells of the drill's one item.
type report struct {
	Items []struct {
		Stock     int
		Conserved bool
		Drift     int
		Orders    map[string]int
	}
	Unconfirmed, ReleasesWaiting, DeadLetters, WriterLag int
	Changing                                             bool
}

func (r report) active() int { return r.Items[0].Orders["PENDING"] + r.Items[0].Orders["PAID"] }

// quiet tells that nothing is on its way any more.
func (r report) quiet() bool {
	return !r.Changing && r.Items[0].Conserved && r.Items[0].Drift == 0 &&
		r.Unconfirmed == 0 && r.ReleasesWaiting == 0 && r.WriterLag == 0
}

// settle lets fresh shoppers buy what is left, until all is sold and quiet, or the time is over.
// Where orders expire quickly, all units must be back in stock instead.
func (r *Row) settle(ctx context.Context, s *stage, over time.Time) {
	var last report
	var lastErr error
	done := false
	for end := time.Now().Add(s.wait); !done && time.Now().Before(end) && ctx.Err() == nil; {
		last = report{}
		lastErr = administer(ctx, s.shop, map[string]any{"action": "report", "saleId": s.sale.ID}, &last)
		if lastErr == nil && len(last.Items) == 1 {
			left := last.Items[0].Stock
			switch {
			case s.window != 0:
				paid := last.Items[0].Orders["PAID"]
				done = last.quiet() && left == units-paid && last.active() == paid
			case left > 0:
				s.rush(ctx, left, 0)
				continue
			default:
				done = last.quiet() && last.active() == units
			}
		}
		if !done {
			_ = sleep(ctx, 100*time.Millisecond)
		}
	}
	r.Recovery = time.Since(over)
	if !done {
		r.broken("not whole again after %s: %+v (%v)", r.Recovery.Round(time.Second), last, lastErr)
	} else if r.Recovery > comeback {
		r.broken("whole again only after %s", r.Recovery.Round(time.Second))
	}
	if len(last.Items) == 1 {
		r.Stranded = units - last.active() - max(0, last.Items[0].Stock)
	}
	s.paying.Wait()
	if err := r.judge(ctx, s); err != nil {
		r.broken("no verdict: %v", err)
	}
}

func (r *Row) broken(format string, args ...any) {
	r.Broken = append(r.Broken, fmt.Sprintf(format, args...))
}

// judge compares what the shoppers were told with the rows.
func (r *Row) judge(ctx context.Context, s *stage) error {
	rows, err := s.rows(ctx)
	if err != nil {
		return err
	}
	ofUser := map[string]int{}
	r.Why = map[string]int{}
	for _, o := range rows {
		switch o.Status {
		case "PENDING", "PAID":
			r.Active++
			ofUser[o.User]++
		case "EXPIRED", "CANCELLED":
			r.Ended++
		case "REJECTED":
			r.Rejected++
			r.Why[o.Reason]++
		}
	}
	r.Oversold = max(0, r.Active-units)
	for _, n := range ofUser {
		r.Oversold += n - 1
	}
	unseen, active := 0, map[string]string{}
	l := s.sales.sofar() // nobody presses any more
	r.Acknowledged = len(l.accepted)
	r.Explained = s.explained(l.accepted, rows)
	for id, told := range l.accepted {
		o, ok := rows[id]
		switch {
		case !ok:
			r.Lost++
		case !s.shows(ctx, id, told.token, o.Status):
			unseen++
		}
		switch o.Status {
		case "REJECTED":
			r.False++
		case "PENDING", "PAID":
			active[id] = told.token
		}
	}
	for answer, n := range l.unexpected {
		r.broken("answers of %s: %d", answer, n)
	}
	r.Slowest, r.Unhindered = l.slowest, l.unhindered
	unaware, err := s.unaware(ctx, active)
	if err != nil {
		return err
	}
	unpaid, err := s.unpaid(ctx, l.paid, rows)
	if err != nil {
		return err
	}
	if s.explains == deleted { // what is put back costs a unit until the stock is mended too
		l.refused = slices.DeleteFunc(slices.Clone(l.refused), s.struck.Before)
	}
	for what, n := range map[string]int{
		"lost": r.Lost, "oversold": r.Oversold, "stranded": r.Stranded, "shoppers without an answer": l.gaveUp,
		"orders whose shopper is not shown how they stand":   unseen,
		"winners who press again and are not told so":        unaware,
		"payments that neither pay nor are due back":         unpaid,
		"shoppers who heard SOLD_OUT while there were units": l.early(),
	} {
		if n != 0 {
			r.broken("%s: %d", what, n)
		}
	}
	if r.False > r.Explained {
		r.broken("false 202s: %d, of which the fault explains %d", r.False, r.Explained)
	}
	s.log.InfoContext(ctx, "verdict", "slowest purchase", r.Slowest, "unhindered", r.Unhindered, "false 202s", r.False, "explained", r.Explained)
	if s.besides != nil {
		if err := s.besides(ctx, s); err != nil {
			r.broken("besides: %v", err)
		}
	}
	if s.happened != nil {
		if times, err := s.happened(ctx, s); err != nil || times == 0 {
			r.broken("the fault was met %d times, so the drill proves nothing (%v)", times, err)
		} else {
			s.log.InfoContext(ctx, "the fault was met", "times", times)
		}
	}
	if r.Unhindered > Budget && !s.asleep {
		r.broken("a purchase took %s, of up to %s", r.Unhindered.Round(10*time.Millisecond), r.Slowest.Round(10*time.Millisecond))
	}
	slices.Sort(r.Broken)
	return nil
}

// unaware lets winners press again, by their orders' ids, and counts who does not hear of the own
// order. It asks functions that have just begun: those who sold know their winners by themselves.
func (s *stage) unaware(ctx context.Context, tokens map[string]string) (int, error) {
	if len(tokens) == 0 {
		return 0, nil
	}
	fresh, err := s.setup.open(ctx, s.log)
	if err != nil {
		return 0, err
	}
	defer fresh.Close()
	s.fresh = fresh
	defer func() { s.fresh = nil }()
	s.ask(ctx, 3) // now they know that all is sold
	for end := time.Now().Add(2 * time.Second); ; {
		for id, token := range tokens {
			if code, own, _ := s.press(ctx, token); code == http.StatusConflict && own == id {
				delete(tokens, id)
			}
		}
		if len(tokens) == 0 || time.Now().After(end) || sleep(ctx, 200*time.Millisecond) != nil {
			return len(tokens), nil
		}
	}
}

// explained counts the 202s that may be false.
func (s *stage) explained(accepted map[string]receipt, rows map[string]orderRow) int {
	switch s.explains {
	case forgotten: // whoever had the unit first, or who got it again
		return s.forgot(accepted, rows)
	case deleted:
		return secondOrders(accepted) + s.unwritten
	default:
		return 0
	}
}

// orderRow is an order as PostgreSQL has it.
type orderRow struct {
	ID, User, Status, Reason string
}

func (s *stage) rows(ctx context.Context) (map[string]orderRow, error) {
	rows, err := s.shop.Pool.Query(ctx, `SELECT id::text, user_id, status, COALESCE(reason, '') FROM flash_sale_order WHERE sale_id = $1`, int64(s.sale.ID))
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[orderRow])
	byID := make(map[string]orderRow, len(all))
	for _, o := range all {
		byID[o.ID] = o
	}
	return byID, err
}

// shows asks for an order's status as its shopper does.
func (s *stage) shows(ctx context.Context, id, token, status string) bool {
	code, body := s.call(ctx, "orderstatus", http.MethodGet, "/api/flash-sales/orders/"+id, map[string]string{"orderId": id}, token)
	var answer struct {
		OrderID sale.OrderID
		Status  string
		Payable bool
	}
	return code == http.StatusOK && json.Unmarshal([]byte(body), &answer) == nil && answer.OrderID.String() == id &&
		answer.Status == status && (answer.Payable == (status == "PENDING") || s.rowsOff != 0 || s.stepping)
}
