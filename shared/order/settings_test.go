package order_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/sale"
)

func TestSettings(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, s *shop) {
		ctx := t.Context()
		s.create(t, saleOf(7, 10, 10))
		s.create(t, saleOf(8, 10))
		want := sale.Settings{
			Version: 1, OpensAt: start, ClosesAt: start.Add(time.Hour),
			Paused: []sale.PauseReason{}, Doubts: []sale.ItemID{},
		}
		pauses := func(reasons ...sale.PauseReason) func() {
			return func() { want.Paused = append([]sale.PauseReason{}, reasons...) }
		}
		doubts := func(items ...sale.ItemID) func() {
			return func() { want.Doubts = append([]sale.ItemID{}, items...) }
		}
		begin := func(anew bool) error {
			seen, err := s.BeginRebuild(ctx, 7, anew, "op")
			if got, _ := s.Settings(ctx, 7); err == nil && seen != got.Version {
				t.Errorf("begin a rebuild: got version %d, want %d", seen, got.Version)
			}
			return err
		}
		steps := []struct {
			name   string
			do     func() error
			effect func() // nil: nothing may change, the version neither
		}{
			{"resume what runs", func() error { return s.Resume(ctx, 7, sale.PausedByOperator, "op") }, nil},
			{"pause", func() error { return s.Pause(ctx, 7, sale.PausedByOperator, "op") }, pauses("operator")},
			{"pause again", func() error { return s.Pause(ctx, 7, sale.PausedByOperator, "op") }, nil},
			{"pause for another reason", func() error { return s.Pause(ctx, 7, sale.PausedByRebuild, "op") }, pauses("operator", "rebuild")},
			{"lift one reason", func() error { return s.Resume(ctx, 7, sale.PausedByOperator, "op") }, pauses("rebuild")},
			{"lift the other", func() error { return s.Resume(ctx, 7, sale.PausedByRebuild, "op") }, pauses()},
			{"begin a rebuild", func() error { return begin(false) }, pauses("rebuild")},
			{"go on with it", func() error { return begin(false) }, nil},
			{"begin anew", func() error { return begin(true) }, pauses("rebuild")},
			{"end the former", func() error { return s.EndRebuild(ctx, 7, want.Version-1, "op") }, nil},
			{"end it", func() error { return s.EndRebuild(ctx, 7, want.Version, "op") }, pauses()},
			{"doubt", func() error { return s.Doubt(ctx, 7, 702) }, doubts(702)},
			{"doubt another item", func() error { return s.Doubt(ctx, 7, 701) }, doubts(701, 702)},
			{"lift what an older pass saw", func() error { return s.LiftDoubts(ctx, 7, want.Version-2, "op") }, nil},
			{"lift what a pass before the second doubt saw", func() error { return s.LiftDoubts(ctx, 7, want.Version-1, "op") }, doubts(701)},
			{"doubt it anew", func() error { return s.Doubt(ctx, 7, 701) }, doubts(701)},
			{"lift what a pass before that saw", func() error { return s.LiftDoubts(ctx, 7, want.Version-1, "op") }, nil},
			{"lift what a pass after that saw", func() error { return s.LiftDoubts(ctx, 7, want.Version, "op") }, doubts()},
			{"raise above what they have passed", func() error { return s.RaiseSettings(ctx, 7, want.Version) }, nil},
			{"raise above what a shard has", func() error { return s.RaiseSettings(ctx, 7, want.Version+1) }, func() { want.Version++ }},
			{"close", func() error { return s.Close(ctx, 7, "op") }, func() { want.ClosesAt = start }},
			{"close again", func() error { return s.Close(ctx, 7, "op") }, nil},
		}
		for _, step := range steps {
			if err := step.do(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if step.effect != nil {
				step.effect()
				want.Version++
			}
			if got, err := s.Settings(ctx, 7); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s: got %+v, %v, want %+v", step.name, got, err, want)
			}
		}
		if got, err := s.Settings(ctx, 8); err != nil || got.Version != 1 {
			t.Errorf("other sale: got %+v, %v, want version 1", got, err)
		}
		// Two pauses, two resumes, two begins, one end, two lifts, one close: only what changed something. Doubts have no operator.
		if n := s.count(t, `SELECT count(*) FROM operator_action WHERE actor = 'op' AND sale_id = 7`); n != 10 {
			t.Errorf("audit: got %d lines, want 10", n)
		}
	})
}

func TestUnknownSale(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	s.create(t, saleOf(7, 10))
	calls := map[string]func() error{
		"settings":          func() error { _, err := s.Settings(ctx, 99); return err },
		"ledger":            func() error { _, err := s.Ledger(ctx, 99); return err },
		"listing":           func() error { _, err := s.Listing(ctx, 99); return err },
		"report":            func() error { _, err := s.Report(ctx, 99); return err },
		"first load":        func() error { _, err := s.FirstLoad(ctx, 99, "op", nil); return err },
		"pause":             func() error { return s.Pause(ctx, 99, sale.PausedByOperator, "op") },
		"resume":            func() error { return s.Resume(ctx, 99, sale.PausedByOperator, "op") },
		"close":             func() error { return s.Close(ctx, 99, "op") },
		"doubt":             func() error { return s.Doubt(ctx, 99, 701) },
		"doubt, wrong item": func() error { return s.Doubt(ctx, 7, 999) },
		"begin a rebuild":   func() error { _, err := s.BeginRebuild(ctx, 99, true, "op"); return err },
		"end a rebuild":     func() error { return s.EndRebuild(ctx, 99, 1, "op") },
		"lift":              func() error { return s.LiftDoubts(ctx, 99, 1, "op") },
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, order.ErrUnknownSale) {
			t.Errorf("%s: got %v, want ErrUnknownSale", name, err)
		}
	}
}

// Each change that others make at the same time gets a version of its own.
func TestSettingsAtOnce(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.create(t, saleOf(7, 10, 10))
	ctx := t.Context()
	var group sync.WaitGroup
	for range 10 {
		for _, do := range []func() error{
			func() error { return s.Doubt(ctx, 7, 701) },
			func() error { return s.Doubt(ctx, 7, 702) },
			func() error { return s.LiftDoubts(ctx, 7, 0, "op") },
			func() error { return s.Pause(ctx, 7, sale.PausedByOperator, "op") },
			func() error { return s.Pause(ctx, 7, sale.PausedByRebuild, "op") },
		} {
			group.Go(func() {
				if err := do(); err != nil {
					t.Errorf("change: %v", err)
				}
			})
		}
	}
	group.Wait()
	got, err := s.Settings(ctx, 7)
	if want := int64(1 + 20 + 2); err != nil || got.Version != want || len(got.Doubts) != 2 || len(got.Paused) != 2 {
		t.Errorf("settings: got %+v, %v, want version %d, 2 doubts, 2 pauses", got, err, want)
	}
}
