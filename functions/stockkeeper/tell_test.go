package stockkeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"flashsale/shared/shoptest"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

// figures lets the keeper measure; the returned function makes one pass and says what it told.
func (d *desk) figures(t *testing.T) func(fails bool) map[string]float64 {
	var lines bytes.Buffer
	d.h.Meter = telemetry.NewMeter(&lines, "keeper", time.Now)
	d.h.Letters = func(context.Context) (int64, error) { return 3, nil }
	return func(fails bool) map[string]float64 {
		t.Helper()
		lines.Reset()
		if _, err := d.h.Invoke(t.Context(), []byte(once)); (err != nil) != fails {
			t.Fatalf("pass: got %v, want a failure: %t", err, fails)
		}
		told := map[string]float64{}
		for key, sum := range telemetrytest.Sums(telemetrytest.Read(t, lines.Bytes())) {
			told[key[len("Function=keeper "):]] = sum
		}
		return told
	}
}

// TestFigures tells of a sound sale, of a damaged one, and of one that was mended.
func TestFigures(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 10, 5)
	d.Reserve(t, sl, 0, "u1")
	d.h.Keeper.Backlog = func(context.Context) (int64, error) { return 7, nil }
	if _, err := d.Pool.Exec(t.Context(), `INSERT INTO payment (webhook_id, payment_id, order_id, sale_id, type, amount_minor, currency, received_at, outcome, refund_due)
		VALUES ('w1', 'p1', gen_random_uuid(), $1, 'payment.succeeded', 100, 'EUR', now(), 'refund_due', true)`, int64(sl.ID)); err != nil {
		t.Fatal(err)
	}
	pass := d.figures(t)
	sound := map[string]float64{
		"Conserved": 1, "Drift": 0, "Unconfirmed": 1, "WriterLag": 7, "DeadLetters": 3, "RefundsDue": 1, "Repaired": 0,
	}
	if got := pass(false); !maps.Equal(got, sound) {
		t.Errorf("sound: told %v, want %v", got, sound)
	}
	if err := d.Redis.HIncrBy(t.Context(), shoptest.Key(sl, "stock"), strconv.FormatInt(int64(sl.Items[1].ID), 10), -2).Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.Redis.HSet(t.Context(), shoptest.Key(sl, "holds"), "nobody", "nonsense").Err(); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	d.h.Log = slog.New(slog.NewTextHandler(&lines, nil))
	got := pass(false)
	if got["Conserved"] != 0 || got["Drift"] != 2 || got["Repaired"] == 0 {
		t.Errorf("two units gone: told %v, want it seen before it was mended", got)
	}
	for _, want := range []string{
		fmt.Sprintf(`msg="a shard does not add up" saleId=%d shard=0 itemId=%d quota=5 stock=3 holds=0`, sl.ID, sl.Items[1].ID),
		fmt.Sprintf(`msg="a shard is damaged" saleId=%d shard=0 holds=1 fields=0`, sl.ID),
	} {
		if strings.Count(lines.String(), want) != 1 {
			t.Errorf("log: got\n%s, want one line with %s", lines.String(), want)
		}
	}
	lines.Reset()
	if got := pass(false); !maps.Equal(got, sound) || strings.Contains(lines.String(), "a shard") {
		t.Errorf("mended: told %v, want %v, and logged\n%s", got, sound, lines.String())
	}
}

// TestLostIsNotConserved has a shard without its marker: what it held is lost, not right.
func TestLostIsNotConserved(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 10)
	pass := d.figures(t)
	for _, part := range []string{"meta", "stock"} {
		if err := d.Redis.Del(t.Context(), shoptest.Key(sl, part)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if got := pass(false); got["Conserved"] != 0 {
		t.Errorf("told %v, want Conserved 0", got)
	}
	if got := pass(false); got["Conserved"] != 1 {
		t.Errorf("after the rebuild told %v, want Conserved 1", got)
	}
}

// TestFailuresAreNotCalledSound has passes that could not do their work: the good word is missing,
// which the alarm for silence sees, and what is known is told.
func TestFailuresAreNotCalledSound(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	sl := d.Open(t, 10)
	d.h.Keeper.Backlog = func(context.Context) (int64, error) { return 0, errors.New("kafka is away") }
	pass := d.figures(t)
	got := pass(false)
	if _, ok := got["WriterLag"]; ok || got["Conserved"] != 1 || got["DeadLetters"] != 3 {
		t.Errorf("kafka away: told %v, want all but WriterLag", got)
	}
	if err := d.Redis.Del(t.Context(), shoptest.Key(sl, "holds")).Err(); err != nil {
		t.Fatal(err)
	}
	if err := d.Redis.Set(t.Context(), shoptest.Key(sl, "holds"), "no hash", 0).Err(); err != nil {
		t.Fatal(err)
	}
	got = pass(false) // the pass mends it
	if _, ok := got["Conserved"]; ok {
		t.Errorf("Redis could not be read: told %v, want no word on conservation", got)
	}
}

// TestWriterLagWithoutTheDatabase has records that nobody can write: their alarm must hear of them.
func TestWriterLagWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	d := open(t, unused{t})
	d.h.Keeper.Backlog = func(context.Context) (int64, error) { return 7, nil }
	pass := d.figures(t)
	d.Pool.Close()
	if got, want := pass(true), map[string]float64{"WriterLag": 7, "DeadLetters": 3, "Repaired": 0}; !maps.Equal(got, want) {
		t.Errorf("told %v, want %v", got, want)
	}
}
