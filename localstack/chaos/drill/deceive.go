package drill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"flashsale/localstack/dev/lambda"
)

// A Lie is something untrue of a system that is well, and the promises that are broken if it is so.
type Lie struct {
	Broken []string // how the verdict says it, each from its beginning
	Found  []string // what the verdict said
	tell   func(ctx context.Context, s *stage, v *victim) error
}

// A victim is an order that lies are told about, and what puts the truth back.
type victim struct {
	id, user, item string
	conn           *pgx.Conn
	undo           []func() error
}

// Deceive has a sale that went well, and then tells one lie after the other of it, with a verdict
// after each. What the verdict said before all of them must be nothing.
func Deceive(ctx context.Context, park Park, log *slog.Logger) (honest []string, lies []Lie, err error) {
	s, err := open(ctx, Drill{Name: "deceived"}, park, log)
	if err != nil {
		return nil, nil, err
	}
	defer s.close()
	close(s.over)
	s.struck = time.Now()
	s.rush(ctx, shoppers, time.Second)
	var row Row
	row.settle(ctx, s, time.Now())
	honest = row.Broken
	s.crew.stop() // nobody mends what follows
	s.wait = 300 * time.Millisecond
	lies = allLies()
	return honest, lies, s.asOperator(ctx, func(conn *pgx.Conn) error {
		if _, err := conn.Exec(ctx, `CREATE TEMP TABLE truth (LIKE flash_sale_order)`); err != nil {
			return err
		}
		for i := range lies {
			if err := s.deceived(ctx, conn, &lies[i]); err != nil {
				return fmt.Errorf("%s: %w", lies[i].Broken[0], err)
			}
		}
		return nil
	})
}

// deceived tells one lie, hears the verdict, and puts the truth back.
func (s *stage) deceived(ctx context.Context, conn *pgx.Conn, lie *Lie) error {
	v := &victim{conn: conn}
	if err := conn.QueryRow(ctx, `SELECT id::text, user_id, item_id::text FROM flash_sale_order WHERE status = 'PENDING' AND user_id !~ '[27]$' ORDER BY id LIMIT 1`).
		Scan(&v.id, &v.user, &v.item); err != nil {
		return err
	}
	before := s.sales.sofar()
	over := time.Now()
	if err := lie.tell(ctx, s, v); err != nil {
		return err
	}
	if lie.Broken[0] == "whole again only after" {
		over = over.Add(-comeback)
	}
	var row Row
	row.settle(ctx, s, over)
	lie.Found = row.Broken
	s.sales.note(func(l *ledger) { l.told = before })
	var failed error
	for _, undo := range v.undo {
		failed = errors.Join(failed, undo())
	}
	return failed
}

func allLies() []Lie {
	const row = `UPDATE flash_sale_order SET `
	return []Lie{
		{Broken: []string{"lost", "stranded", "not whole again"}, tell: rewritten(`DELETE FROM flash_sale_order WHERE id = $1`)},
		{Broken: []string{"false 202s"}, tell: rewritten(row + `status = 'REJECTED', reason = 'a lie', settled_at = now(), expires_at = NULL WHERE id = $1`)},
		{Broken: []string{"oversold"}, tell: rewritten(`INSERT INTO flash_sale_order SELECT (jsonb_populate_record(o,
			jsonb_build_object('id', '00000000-0000-8000-8000-000000000001', 'user_id', 'nobody'))).* FROM flash_sale_order o WHERE id = $1`)},
		{Broken: []string{"orders whose shopper is not shown"}, tell: rewritten(row + `user_id = 'nobody' WHERE id = $1`)},
		{Broken: []string{"payments that neither pay"}, tell: func(ctx context.Context, s *stage, v *victim) error {
			s.sales.took(money{orderID: v.id})
			v.undo = append(v.undo, func() error { s.sales.note(func(l *ledger) { delete(l.paid, v.id) }); return nil })
			return nil
		}},
		{Broken: []string{"winners who press again", "not whole again"}, tell: func(ctx context.Context, s *stage, v *victim) error {
			hold, err := s.rdb.HGet(ctx, s.key("holds"), v.user).Result()
			v.undo = append(v.undo, func() error { return s.rdb.HSet(ctx, s.key("holds"), v.user, hold).Err() })
			return errors.Join(err, s.rdb.HDel(ctx, s.key("holds"), v.user).Err())
		}},
		{Broken: []string{"not whole again"}, tell: func(ctx context.Context, s *stage, v *victim) error {
			v.undo = append(v.undo, func() error { return s.rdb.HIncrBy(ctx, s.key("stock"), v.item, 1).Err() })
			return s.rdb.HIncrBy(ctx, s.key("stock"), v.item, -1).Err()
		}},
		{Broken: []string{"whole again only after"}, tell: func(context.Context, *stage, *victim) error { return nil }},
		{Broken: []string{"shoppers who heard SOLD_OUT"}, tell: func(_ context.Context, s *stage, v *victim) error {
			s.sales.note(func(l *ledger) { // as if that unit had been nobody's
				since := l.maybe[v.user]
				delete(l.maybe, v.user)
				v.undo = append(v.undo, func() error { s.sales.perhaps(v.user, since); return nil })
			})
			return nil
		}},
		{Broken: []string{"answers of 500"}, tell: answered(0, `{"statusCode":500,"body":"{}"}`)},
		{Broken: []string{"answers of 410 SALE_CLOSED"}, tell: answered(0, `{"statusCode":410,"body":"{\"error\":\"SALE_CLOSED\"}"}`)},
		{Broken: []string{"answers of 0"}, tell: answered(0, "")},
		{Broken: []string{"shoppers without an answer"}, tell: answered(0, `{"statusCode":503,"body":"{}"}`)},
		{Broken: []string{"a purchase took"}, tell: answered(Budget+time.Second, `{"statusCode":409,"body":"{}"}`)},
		{Broken: []string{"the fault was met 0 times"}, tell: func(_ context.Context, s *stage, v *victim) error {
			s.happened = struck
			v.undo = append(v.undo, func() error { s.happened = nil; return nil })
			return nil
		}},
	}
}

// rewritten changes rows, whose old ones are put back.
func rewritten(change string) func(context.Context, *stage, *victim) error {
	return func(ctx context.Context, _ *stage, v *victim) error {
		do := func(sql string, args ...any) func() error {
			return func() error { _, err := v.conn.Exec(ctx, sql, args...); return err }
		}
		v.undo = []func() error{
			do(`DELETE FROM flash_sale_order WHERE id = $1 OR user_id = 'nobody'`, v.id),
			do(`INSERT INTO flash_sale_order SELECT * FROM truth`), do(`TRUNCATE truth`),
		}
		return errors.Join(do(`INSERT INTO truth SELECT * FROM flash_sale_order WHERE id = $1`, v.id)(), do(change, v.id)())
	}
}

// answered lets one shopper have that answer to each press, as late as that. "" is none.
func answered(late time.Duration, answer string) func(context.Context, *stage, *victim) error {
	return func(ctx context.Context, s *stage, v *victim) error {
		truth := s.functions["purchase"]
		v.undo = append(v.undo, func() error { s.functions["purchase"] = truth; return nil })
		var lying lambda.Invoke = func(ctx context.Context, _ []byte) ([]byte, error) {
			if err := sleep(ctx, late); err != nil || answer == "" {
				return nil, errors.Join(err, errors.New(http.StatusText(http.StatusInternalServerError)))
			}
			return []byte(answer), nil
		}
		s.functions["purchase"] = lying
		ctx, cancel := context.WithTimeout(ctx, late+300*time.Millisecond)
		defer cancel()
		s.rush(ctx, 1, 0)
		return nil
	}
}
