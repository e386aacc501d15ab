package migrations_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"flashsale/localstack/servers"
	"flashsale/migrations"
)

func empty(t *testing.T) string {
	return servers.Database(t, "empty", func(context.Context, string) error { return nil })
}

func migrated(t *testing.T) *pgx.Conn {
	t.Helper()
	url := servers.Database(t, migrations.Hash(), func(ctx context.Context, url string) error {
		_, err := migrations.Up(ctx, url)
		return err
	})
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return conn
}

func fileCount(t *testing.T) int {
	t.Helper()
	names, err := fs.Glob(os.DirFS("."), "*.sql")
	if err != nil || len(names) == 0 {
		t.Fatalf("files: got %v, %v, want some", names, err)
	}
	return len(names)
}

func TestUp(t *testing.T) {
	t.Parallel()

	t.Run("twice", func(t *testing.T) {
		t.Parallel()
		url := empty(t)
		for i, want := range []int{fileCount(t), 0} {
			if got, err := migrations.Up(t.Context(), url); err != nil || got != want {
				t.Errorf("run %d: got %d applied, %v, want %d", i, got, err, want)
			}
		}
	})
	t.Run("four at once apply each file once", func(t *testing.T) {
		t.Parallel()
		url := empty(t)
		var group sync.WaitGroup
		counts := make([]int, 4)
		for i := range counts {
			group.Go(func() {
				var err error
				if counts[i], err = migrations.Up(t.Context(), url); err != nil {
					t.Errorf("run %d: %v", i, err)
				}
			})
		}
		group.Wait()
		sum := 0
		for _, n := range counts {
			sum += n
		}
		if sum != fileCount(t) {
			t.Errorf("applied: got %v, want %d together", counts, fileCount(t))
		}
	})
	t.Run("an unreachable database, without its password", func(t *testing.T) {
		t.Parallel()
		_, err := migrations.Up(t.Context(), "postgres://u:hunter2@127.0.0.1:1/x?connect_timeout=2")
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error: got %v, want one that hides the password", err)
		}
	})
}

// Each rule of the schema: what it refuses, and what it lets pass beside it.
func TestConstraints(t *testing.T) {
	t.Parallel()
	const (
		sale  = `INSERT INTO flash_sale (id, name, opens_at, closes_at, payment_window, grace, shards, definition, created_at) VALUES `
		item  = `INSERT INTO flash_sale_item (id, sale_id, product_id, name, price_minor, currency, quantity, sold) VALUES `
		pause = `INSERT INTO flash_sale_pause (sale_id, reason, item_id, since, by, settings_version) VALUES `
		quota = `INSERT INTO flash_sale_quota (sale_id, item_id, shard, quota) VALUES `
		order = `INSERT INTO flash_sale_order (id, sale_id, item_id, user_id, status, reason, price_minor, currency,
			reserved_at, created_at, expires_at, settled_at) VALUES `
		release = `INSERT INTO stock_release (order_id, sale_id, user_id, created_at) VALUES `
		event   = `INSERT INTO order_event (order_id, sale_id, kind, at, payload) VALUES `
		payment = `INSERT INTO payment (webhook_id, payment_id, order_id, sale_id, type, amount_minor, currency,
			received_at, outcome, refund_due) VALUES `
		id1 = `'00000000-0000-8000-8000-000000000001'`
		id2 = `'00000000-0000-8000-8000-000000000002'`
		id3 = `'00000000-0000-8000-8000-000000000003'`
	)
	row := func(id, saleItem, user, status string) string {
		switch status {
		case "PENDING":
			return order + `(` + id + `,` + saleItem + `,` + user + `,'PENDING', NULL, 1, 'EUR', now(), now(), now(), NULL)`
		case "REJECTED":
			return order + `(` + id + `,` + saleItem + `,` + user + `,'REJECTED', 'x', 1, 'EUR', now(), now(), NULL, now())`
		}
		return order + `(` + id + `,` + saleItem + `,` + user + `,'` + status + `', NULL, 1, 'EUR', now(), now(), now(), now())`
	}
	cases := []struct {
		rule, given, refused, passes string
	}{
		{"pk_sale", "", sale + `(1,'n',now(),now()+'1h','1m','0',1,'{}',now())`, sale + `(2,'n',now(),now()+'1h','1m','0',1,'{}',now())`},
		{"chk_sale_id_fits_order_id", "", sale + `(4294967296,'n',now(),now()+'1h','1m','0',1,'{}',now())`, sale + `(4294967295,'n',now(),now()+'1h','1m','0',1,'{}',now())`},
		{"chk_window_is_not_empty", "", `UPDATE flash_sale SET closes_at = opens_at`, `UPDATE flash_sale SET closes_at = opens_at, closed_at = opens_at`},
		{"chk_spread_is_not_negative", "", `UPDATE flash_sale SET spread = '-1ms'`, `UPDATE flash_sale SET spread = '59m'`},
		{"chk_window_outlasts_spread", "", `UPDATE flash_sale SET spread = closes_at - opens_at`, `UPDATE flash_sale SET spread = closes_at - opens_at, closed_at = now()`},
		{"chk_payment_takes_time", "", `UPDATE flash_sale SET payment_window = '0'`, `UPDATE flash_sale SET payment_window = '1s', grace = '0'`},
		{"chk_payment_takes_time", "", `UPDATE flash_sale SET grace = '-1s'`, `UPDATE flash_sale SET grace = '1s'`},
		{"chk_sale_times_are_finite", "", `UPDATE flash_sale SET closes_at = 'infinity'`, `UPDATE flash_sale SET closes_at = closes_at + '99y'`},
		{"chk_at_least_one_shard", "", `UPDATE flash_sale SET shards = 0`, `UPDATE flash_sale SET shards = 2`},
		{"fk_pause_of_sale", "", pause + `(2,'operator',NULL,now(),'op',2)`, pause + `(1,'operator',NULL,now(),'op',2)`},
		{"uq_one_pause_per_reason", pause + `(1,'operator',NULL,now(),'op',2)`, pause + `(1,'operator',NULL,now(),'op',3)`, pause + `(1,'rebuild',NULL,now(),'op',3)`},
		{"uq_one_pause_per_reason", pause + `(1,'doubt',11,now(),'op',2)`, pause + `(1,'doubt',11,now(),'op',3)`, pause + `(1,'doubt',12,now(),'op',3)`},
		{"chk_pause_reason", "", pause + `(1,'mood',NULL,now(),'op',2)`, pause + `(1,'operator',NULL,now(),'op',2)`},
		{"chk_only_doubt_names_item", "", pause + `(1,'operator',11,now(),'op',2)`, pause + `(1,'doubt',11,now(),'op',2)`},
		{"chk_only_doubt_names_item", "", pause + `(1,'doubt',NULL,now(),'op',2)`, pause + `(1,'doubt',12,now(),'op',2)`},
		{"pk_item", "", item + `(11,1,5,'n',1,'EUR',1,0)`, item + `(13,1,5,'n',1,'EUR',1,0)`},
		{"fk_item_of_sale", "", item + `(13,2,5,'n',1,'EUR',1,0)`, item + `(13,1,5,'n',1,'EUR',1,0)`},
		{"chk_item_id_is_positive", "", item + `(0,1,5,'n',1,'EUR',1,0)`, item + `(1,1,5,'n',1,'EUR',1,0)`},
		{"chk_price_is_positive", "", item + `(13,1,5,'n',0,'EUR',1,0)`, item + `(13,1,5,'n',1,'EUR',1,0)`},
		{"chk_currency_is_a_code", "", item + `(13,1,5,'n',1,'eur',1,0)`, item + `(13,1,5,'n',1,'USD',1,0)`},
		{"chk_quantity_is_positive", "", item + `(13,1,5,'n',1,'EUR',0,0)`, item + `(13,1,5,'n',1,'EUR',1,0)`},
		{"chk_not_oversold", "", `UPDATE flash_sale_item SET sold = 11`, `UPDATE flash_sale_item SET sold = 10`},
		{"chk_not_oversold", "", `UPDATE flash_sale_item SET sold = -1`, `UPDATE flash_sale_item SET sold = 0`},
		{"pk_quota", quota + `(1,11,0,5)`, quota + `(1,11,0,5)`, quota + `(1,11,1,5), (1,12,0,5)`},
		{"fk_quota_of_item", "", quota + `(1,99,0,5)`, quota + `(1,11,0,5)`},
		{"chk_shard_is_not_negative", "", quota + `(1,11,-1,5)`, quota + `(1,11,0,5)`},
		{"chk_quota_is_not_negative", "", quota + `(1,11,0,-1)`, quota + `(1,11,0,0)`},
		{"pk_order", row(id1, "1,11", "'ann'", "EXPIRED"), row(id1, "1,11", "'bob'", "PENDING"), row(id2, "1,11", "'bob'", "PENDING")},
		{"chk_order_state", "", row(id1, "1,11", "'ann'", "RESERVED"), row(id1, "1,11", "'ann'", "CANCELLED")},
		{"chk_rejected_says_why", row(id1, "1,11", "'ann'", "PENDING"), `UPDATE flash_sale_order SET reason = 'x'`, row(id2, "1,11", "'bob'", "REJECTED")},
		{"chk_rejected_is_not_payable", row(id1, "1,11", "'ann'", "REJECTED"), `UPDATE flash_sale_order SET expires_at = now()`, row(id2, "1,11", "'bob'", "PENDING")},
		{"chk_pending_is_not_settled", row(id1, "1,11", "'ann'", "PENDING"), `UPDATE flash_sale_order SET settled_at = now()`, `UPDATE flash_sale_order SET settled_at = now(), status = 'PAID'`},
		{"chk_order_times_are_finite", row(id1, "1,11", "'ann'", "PENDING"), `UPDATE flash_sale_order SET expires_at = 'infinity'`, `UPDATE flash_sale_order SET expires_at = now() + '99y'; ` + row(id2, "1,11", "'bob'", "REJECTED")},
		{"chk_user_id_length", "", row(id1, "1,11", "''", "PENDING"), row(id1, "1,11", "repeat('x', 255)", "PENDING")},
		{"chk_user_id_length", "", row(id1, "1,11", "repeat('x', 256)", "PENDING"), row(id1, "1,11", "'x'", "PENDING")},
		// One active order per shopper and sale: over two items, pending or paid ...
		{"uq_sale_user_active", row(id1, "1,11", "'ann'", "PENDING"), row(id2, "1,12", "'ann'", "PENDING"), row(id2, "1,11", "'bob'", "PENDING")},
		{"uq_sale_user_active", row(id1, "1,11", "'ann'", "PAID"), row(id2, "1,11", "'ann'", "PENDING"), row(id2, "2,21", "'ann'", "PENDING")},
		// ... but again after an expiry or a cancellation, and beside a rejected one.
		{"uq_sale_user_active", row(id1, "1,11", "'ann'", "EXPIRED"), "", row(id2, "1,11", "'ann'", "PENDING")},
		{"uq_sale_user_active", row(id1, "1,11", "'ann'", "CANCELLED"), "", row(id2, "1,11", "'ann'", "PENDING")},
		{"uq_sale_user_active", row(id1, "1,11", "'ann'", "PENDING"), "", row(id2, "1,12", "'ann'", "REJECTED") + `; ` + row(id3, "1,11", "'ann'", "EXPIRED")},
		{"uq_one_release_per_order", release + `(` + id1 + `,1,'ann',now())`, release + `(` + id1 + `,1,'ann',now())`, release + `(` + id2 + `,1,'ann',now())`},
		{"chk_event_kind", "", event + `(` + id1 + `,1,'bought',now(),'{}')`, event + `(` + id1 + `,1,'refund_due',now(),'{}')`},
		{"pk_payment_event", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w1','p2',` + id2 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w2','p1',` + id1 + `,1,'t',1,'EUR',now(),'duplicate',false)`},
		{"uq_order_paid_once", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w2','p2',` + id1 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w2','p2',` + id1 + `,1,'t',1,'EUR',now(),'refund_due',true)`},
		{"uq_payment_used_once", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w2','p1',` + id2 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w2','p1',` + id2 + `,1,'t',1,'EUR',now(),'duplicate',false)`},
		{"uq_payment_used_once", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'paid',false)`, payment + `('w2','p1',` + id2 + `,1,'t',1,'EUR',now(),'refund_due',true)`, payment + `('w2','p1',` + id2 + `,1,'t',1,'EUR',now(),'failed',false)`},
		{"uq_payment_used_once", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'refund_due',false)`, payment + `('w2','p1',` + id1 + `,1,'t',1,'EUR',now(),'refund_due',true)`, payment + `('w2','p2',` + id1 + `,1,'t',1,'EUR',now(),'refund_due',true)`},
		{"chk_payment_outcome", "", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'lost',false)`, payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'waiting',false)`},
		{"chk_refund_has_its_outcome", "", payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'paid',true)`, payment + `('w1','p1',` + id1 + `,1,'t',1,'EUR',now(),'refund_due',true)`},
	}
	conn := migrated(t)
	exec := func(t *testing.T, text string) error {
		t.Helper()
		_, err := conn.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	if err := exec(t, sale+`(1,'n',now(),now()+'1h','10m','1m',1,'{}',now());`+item+`(11,1,5,'n',1999,'EUR',10,0), (12,1,5,'n',1999,'EUR',10,0)`); err != nil {
		t.Fatalf("given: %v", err)
	}
	// Not parallel: the cases share a connection, and each is rolled back.
	tested := make(map[string]bool)
	for _, c := range cases {
		tested[c.rule] = true
		t.Run(c.rule, func(t *testing.T) {
			if err := exec(t, `BEGIN; `+c.given); err != nil {
				t.Fatalf("given: %v", err)
			}
			defer func() { _ = exec(t, `ROLLBACK`) }()
			if c.refused != "" {
				_ = exec(t, `SAVEPOINT before`)
				var refusal *pgconn.PgError
				if err := exec(t, c.refused); !errors.As(err, &refusal) || refusal.ConstraintName != c.rule {
					t.Errorf("%s: got %v, want it refused", c.refused, err)
				}
				_ = exec(t, `ROLLBACK TO before`)
			}
			if err := exec(t, c.passes); err != nil {
				t.Errorf("%s: got %v, want it to pass", c.passes, err)
			}
		})
	}

	rows, err := conn.Query(t.Context(), `
		SELECT conname FROM pg_constraint WHERE connamespace = 'public'::regnamespace
		UNION SELECT indexname FROM pg_indexes WHERE indexname LIKE 'uq%'`)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	// An identity that nobody sets by hand, the migration library's own, and the
	// foreign keys' target, which the primary key implies.
	for _, implied := range []string{"pk_release", "pk_order_event", "pk_order_placed", "pk_operator_action", "flash_sale_migration_pkey", "uq_item_in_sale"} {
		tested[implied] = true
	}
	for _, rule := range rules {
		if !tested[rule] {
			t.Errorf("%s: no case tries it", rule)
		}
	}
}
