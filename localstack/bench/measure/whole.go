package measure

import (
	"context"
	"fmt"
	"time"

	"flashsale/localstack/bench/rush"
	"flashsale/localstack/bench/table"
	"flashsale/localstack/dev/shop"
	"flashsale/localstack/stampede/target"
)

const (
	lead     = 2 * time.Second // from a sale's creation to its opening
	tick     = time.Second
	patience = 2 * time.Minute // for the last row
	look     = 20 * time.Millisecond
)

// wholePath lets everybody in at the opening, in this process: purchase, Kafka, order
// writer and the schedules, on real servers.
func (b *bench) wholePath(ctx context.Context) ([]table.Row, error) {
	tokens, err := b.sign(b.Shoppers)
	if err != nil {
		return nil, err
	}
	var half, lastAccepted, lastRow, all []float64
	for range rounds(min(b.Rounds, 3)) {
		found, err := b.wholeSale(ctx, tokens)
		if err != nil {
			return nil, err
		}
		half = append(half, found.half.Seconds())
		lastAccepted = append(lastAccepted, found.accepted.Seconds())
		lastRow = append(lastRow, (found.row - found.accepted).Seconds())
		all = append(all, found.everybody.Seconds())
	}
	return []table.Row{
		table.Alone("whole-path", table.Median(half...), "s to half of the 202s", table.Goal{}),
		table.Alone("whole-path", table.Median(lastAccepted...), "s to the last 202", table.Goal{AtMost: 1}),
		table.Alone("whole-path", table.Median(lastRow...), "s from there to the last row", table.Goal{AtMost: 1}),
		table.Alone("whole-path", table.Median(all...), "s until all have an answer", table.Goal{}),
		table.Alone("whole-path", float64(b.Units), "orders and rows, in each round exactly", table.Goal{}),
	}, nil
}

// times are those after the opening.
type times struct{ half, accepted, row, everybody time.Duration }

func (b *bench) wholeSale(ctx context.Context, tokens []string) (times, error) {
	s, err := b.openShop(ctx)
	if err != nil {
		return times{}, err
	}
	defer s.Close()
	opens := time.Now().Add(lead).Truncate(time.Millisecond)
	l, err := sell(ctx, s, b.Units, opens)
	if err != nil {
		return times{}, err
	}
	_, stop := s.Work(ctx, tick)
	defer stop()
	direct, err := target.NewDirect(s.Functions())
	if err != nil {
		return times{}, err
	}
	rows := watch(ctx, opens, b.Units, func(ctx context.Context) (int, error) { return l.count(ctx, s) })
	result, err := rush.Run(ctx, rush.Direct(direct, l.item), b.Callers, tokens, opens)
	if err != nil {
		return times{}, err
	}
	written := <-rows
	if written.err != nil {
		return times{}, written.err
	}
	if err := exact(result, len(tokens), b.Units); err != nil {
		return times{}, err
	}
	if err := l.audit(ctx, s, b.Units); err != nil {
		return times{}, err
	}
	return times{result.Accepted[b.Units/2], result.Last(), written.after, result.Took}, l.retire(ctx, s)
}

// exact refuses a rush that sold a wrong number.
func exact(r rush.Result, shoppers, units int) error {
	if len(r.Accepted) != units || r.Refused != shoppers-units {
		return fmt.Errorf("%d accepted and %d refused, want %d and %d", len(r.Accepted), r.Refused, units, shoppers-units)
	}
	return nil
}

// audit asks for the system's own account.
func (l lot) audit(ctx context.Context, s *shop.Shop, units int) error {
	var got struct {
		Items []struct {
			Sold, Stock int
			Conserved   bool
		}
	}
	if err := s.Administer(ctx, map[string]any{"action": "report", "saleId": l.sale}, &got); err != nil {
		return err
	}
	if len(got.Items) != 1 || got.Items[0].Sold != units || got.Items[0].Stock != 0 || !got.Items[0].Conserved {
		return fmt.Errorf("report: got %+v, want %d sold", got, units)
	}
	return nil
}

// A sighting is when the last row was seen.
type sighting struct {
	after time.Duration
	err   error
}

// watch counts rows from the opening on until there are enough, and once more later:
// there must not be more.
func watch(ctx context.Context, opens time.Time, units int, count func(context.Context) (int, error)) <-chan sighting {
	found := make(chan sighting, 1)
	go func() {
		time.Sleep(time.Until(opens))
		for {
			n, err := count(ctx)
			switch {
			case err != nil:
				found <- sighting{err: err}
				return
			case n > units:
				found <- sighting{err: fmt.Errorf("%d rows, want %d", n, units)}
				return
			case n == units:
				found <- sighting{after: time.Since(opens)}
				return
			case time.Since(opens) > patience:
				found <- sighting{err: fmt.Errorf("%d rows after %s, want %d", n, patience, units)}
				return
			}
			time.Sleep(look)
		}
	}()
	return found
}
