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

// rejectedCalm is the way in which most rules break.
const rejectedCalm = "an accepted order was rejected without a failover"

// TestOrdersNeedEveryRule switches each rule off: the model must break.
func TestOrdersNeedEveryRule(t *testing.T) {
	t.Parallel()
	failover := orders{units: 1, orders: 2, failovers: 1}
	one := orders{units: 1, orders: 1, failovers: 1}
	calm := orders{units: 1, orders: 2, crashes: 1}
	repeat := orders{units: 1, orders: 2, repeats: 1}
	for name, c := range map[string]struct {
		m      orders
		off    rule
		breaks string
	}{
		"claim before write":               {calm, claimBeforeWrite, rejectedCalm},
		"tombstones":                       {calm, tombstones, rejectedCalm},
		"tombstones are kept":              {calm, tombstonesKept, rejectedCalm},
		"a release spares what is claimed": {calm, releaseSparesClaimed, rejectedCalm},
		"a release compares the order":     {orders{units: 2, orders: 3}, releaseComparesOrder, rejectedCalm},
		"a rejection gives the unit back":  {failover, rejectGivesBack, "not conserved"},
		"confirm takes any state":          {one, confirmTakesAnyState, "stuck"},
		"confirm makes no hold":            {calm, confirmMakesNoHold, "not conserved"},
		"expiry is final":                  {calm, expiryIsFinal, "oversold"},
		"202 only after the ack":           {one, answerAfterAck, "an accepted order vanished"},
		"adopting lowers the stock":        {failover, adoptLowersStock, "not conserved"},
		"the reconciler":                   {failover, reconcile, "a unit is promised twice"},
		"the database's guard":             {failover, databaseGuard, "oversold"},
		"a repetition claims":              {repeat, repeatClaims, rejectedCalm},
		"the sweep publishes again":        {calm, sweepPublishesAgain, "stuck"},
		"releases come after the commit":   {calm, releaseAfterCommit, rejectedCalm},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := c.m
			m.off = c.off
			wantBroken(t, m, c.breaks)
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
	for name, c := range map[string]struct {
		off    ledgerRule
		breaks string
	}{
		"shrinking needs stock":      {shrinkNeedsStock, "stock below zero without a failover"},
		"commits are by version":     {commitByVersion, "quotas above the quantity without a failover"},
		"shrink before grow":         {shrinkBeforeGrow, "quotas above the quantity without a failover"},
		"only newer versions":        {newerVersionOnly, "quotas above the quantity without a failover"},
		"stock moves by the delta":   {stockMovesByDelta, "the shards do not settle"},
		"versions are raised by two": {raiseByTwo, "the shards do not settle"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantBroken(t, ledger{perShard: 1, orders: 2, moves: 2, raises: 1, off: c.off}, c.breaks)
		})
	}
}

// wantBroken wants that the model breaks first in that way: another one would mean that the model is
// wrong, or that the rule does not do what its name says.
func wantBroken[S comparable](t *testing.T, m model[S], want string) {
	t.Helper()
	r, err := explore(m, limit, true)
	if err != nil {
		t.Fatal(err)
	}
	if r.violations[want] == nil {
		t.Errorf("without this rule: got %v in %d states, want %q", r.violations, r.states, want)
	}
	t.Logf("%s: %s", want, strings.Join(r.violations[want], ", "))
}
