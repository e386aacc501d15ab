package protocol

import (
	"strings"
	"testing"
)

// limit is far above what the instances here need; reaching it is a failure.
const limit = 3_000_000

func TestOrders(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]orders{
		"two orders and a failover":      {units: 1, orders: 2, failovers: 1},
		"everything to one order":        {units: 1, orders: 1, failovers: 1, crashes: 1, repeats: 1},
		"a repeated purchase and others": {units: 1, orders: 2, repeats: 1},
		"two units and a crash":          {units: 2, orders: 2, crashes: 1},
		"three orders for one unit":      {units: 1, orders: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := explore(m, limit, false)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states", r.states)
			if r.states < 1000 {
				t.Errorf("only %d states: the model cannot move", r.states)
			}
			for kind, path := range r.violations {
				t.Errorf("%s:\n\t%s", kind, strings.Join(path, "\n\t"))
			}
		})
	}
}

// TestOrdersNeedEveryRule switches each rule off: the model must break.
func TestOrdersNeedEveryRule(t *testing.T) {
	t.Parallel()
	failover := orders{units: 1, orders: 2, failovers: 1}
	one := orders{units: 1, orders: 1, failovers: 1}
	calm := orders{units: 1, orders: 2, crashes: 1}
	repeat := orders{units: 1, orders: 2, repeats: 1}
	for name, c := range map[string]struct {
		m   orders
		off rule
	}{
		"claim before write":               {calm, claimBeforeWrite},
		"tombstones":                       {calm, tombstones},
		"tombstones are kept":              {calm, tombstonesKept},
		"a release spares what is claimed": {calm, releaseSparesClaimed},
		"a release compares the order":     {orders{units: 2, orders: 3}, releaseComparesOrder},
		"a rejection gives the unit back":  {failover, rejectGivesBack},
		"confirm takes any state":          {one, confirmTakesAnyState},
		"confirm makes no hold":            {calm, confirmMakesNoHold},
		"expiry is final":                  {calm, expiryIsFinal},
		"202 only after the ack":           {one, answerAfterAck},
		"adopting lowers the stock":        {failover, adoptLowersStock},
		"the reconciler":                   {failover, reconcile},
		"the database's guard":             {failover, databaseGuard},
		"a repetition claims":              {repeat, repeatClaims},
		"the sweep publishes again":        {calm, sweepPublishesAgain},
		"releases come after the commit":   {calm, releaseAfterCommit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := c.m
			m.off = c.off
			r, err := explore(m, limit, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.violations) == 0 {
				t.Fatalf("without this rule nothing breaks in %d states", r.states)
			}
			for kind, path := range r.violations {
				t.Logf("%s: %s", kind, strings.Join(path, ", "))
			}
		})
	}
}

func TestLedger(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]ledger{
		"a move, a failover, a raise": {perShard: 1, orders: 2, moves: 1, failovers: 1, raises: 1},
		"two moves and a raise":       {perShard: 1, orders: 1, moves: 2, raises: 1},
		"the same and a failover":     {perShard: 1, orders: 1, moves: 2, failovers: 1, raises: 1},
		"two units on each":           {perShard: 2, orders: 2, moves: 1, raises: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := explore(m, limit, false)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states", r.states)
			if r.states < 1000 {
				t.Errorf("only %d states: the model cannot move", r.states)
			}
			for kind, path := range r.violations {
				t.Errorf("%s:\n\t%s", kind, strings.Join(path, "\n\t"))
			}
		})
	}
}

func TestLedgerNeedsEveryRule(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]ledgerRule{
		"shrinking needs stock":      shrinkNeedsStock,
		"commits are by version":     commitByVersion,
		"shrink before grow":         shrinkBeforeGrow,
		"only newer versions":        newerVersionOnly,
		"stock moves by the delta":   stockMovesByDelta,
		"versions are raised by two": raiseByTwo,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := explore(ledger{perShard: 1, orders: 2, moves: 2, raises: 1, off: off}, limit, true)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.violations) == 0 {
				t.Fatalf("without this rule nothing breaks in %d states", r.states)
			}
			for kind, path := range r.violations {
				t.Logf("%s: %s", kind, strings.Join(path, ", "))
			}
		})
	}
}
