package saleadmin_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/functions/saleadmin"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/sigv4/sigv4test"
)

const warmTarget = "function:shop-purchase:live"

// A scaler is Application Auto Scaling, as far as it is asked. It takes no request that AWS would
// not take: another target, a wrong schedule, one that is not signed by the account.
type scaler struct {
	t   *testing.T
	now func() time.Time

	mu      sync.Mutex
	actions map[string]string // name: schedule and environments
	wanted  int
	calls   int
	fail    string // the call that fails
	code    string // with that, else by ValidationException
}

func newScaler(t *testing.T, now func() time.Time) (*scaler, *saleadmin.Warmth) {
	t.Helper()
	s := &scaler{t: t, now: now, actions: make(map[string]string), wanted: -1}
	return s, saleadmin.NewWarmth(
		config.Warm{Target: warmTarget, Environments: 40, Before: 15 * time.Minute, After: 20 * time.Minute},
		config.AWS{
			Region: sigv4test.Region, Endpoint: sigv4test.Serve(t, s.answer),
			AccessKeyID: sigv4test.KeyID, SecretAccessKey: sigv4test.Secret, SessionToken: sigv4test.Session,
		})
}

func (s *scaler) answer(service, what string, text []byte) (status int, answer string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	var in struct {
		ServiceNamespace, ScalableDimension, ResourceID, ScheduledActionName, Schedule, NextToken string
		MinCapacity, MaxCapacity                                                                  *int
		ScalableTargetAction                                                                      struct{ MinCapacity, MaxCapacity *int }
	}
	err := json.Unmarshal(text, &in)
	call, known := strings.CutPrefix(what, "AnyScaleFrontendService.")
	if err != nil || !known || service != "application-autoscaling" || in.ResourceID != warmTarget || in.ServiceNamespace != "lambda" || in.ScalableDimension != "lambda:function:ProvisionedConcurrency" {
		s.t.Errorf("request: got %s %s %s, %v", service, what, text, err)
	}
	if call == s.fail {
		return http.StatusBadRequest, fmt.Sprintf(`{"__type":%q,"message":"no"}`, cmp.Or(s.code, "ValidationException"))
	}
	switch call {
	case "DescribeScheduledActions":
		return http.StatusOK, s.describe(in.NextToken)
	case "DeleteScheduledAction":
		delete(s.actions, in.ScheduledActionName)
	case "PutScheduledAction":
		when, err := time.Parse("at(2006-01-02T15:04:05)", in.Schedule)
		from, to := in.ScalableTargetAction.MinCapacity, in.ScalableTargetAction.MaxCapacity
		if err != nil || !when.After(s.now()) || from == nil || to == nil || *from != *to {
			s.t.Errorf("scheduled: got %s, %v", text, err)
			break
		}
		s.actions[in.ScheduledActionName] = fmt.Sprintf("%s %d", when.Format(time.RFC3339), *from)
	case "RegisterScalableTarget":
		if in.MinCapacity == nil || in.MaxCapacity == nil || *in.MinCapacity != *in.MaxCapacity {
			s.t.Errorf("registered: got %s, want one number", text)
			break
		}
		s.wanted = *in.MinCapacity
	default:
		s.t.Errorf("call: got %s", call)
	}
	return http.StatusOK, `{}`
}

// describe answers one action a page.
func (s *scaler) describe(after string) string {
	for _, name := range slices.Sorted(maps.Keys(s.actions)) {
		if name > after {
			return fmt.Sprintf(`{"ScheduledActions":[{"ScheduledActionName":%q}],"NextToken":%q}`, name, name)
		}
	}
	return `{"ScheduledActions":[]}`
}

// scheduled are the actions by time, each as "when environments".
func (s *scaler) scheduled() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.actions))
}

func TestWarmth(t *testing.T) {
	t.Parallel()
	clock := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	at := func(text string) time.Time {
		parsed, err := time.Parse("2006-01-02 15:04", "2026-12-01 "+text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	listing := func(opens, closes string) sale.Listing {
		return sale.Listing{Sale: sale.Sale{OpensAt: at(opens), ClosesAt: at(closes)}}
	}
	for name, tc := range map[string]struct {
		sales     []sale.Listing
		scheduled []string
		now       int
	}{
		"no sale": {nil, nil, 0},
		"one to come": {
			[]sale.Listing{listing("18:00", "20:00")},
			[]string{"2026-12-01T17:45:00Z 40", "2026-12-01T18:20:00Z 0"},
			0,
		},
		"a short one ends with its end": {
			[]sale.Listing{listing("18:00", "18:05")},
			[]string{"2026-12-01T17:45:00Z 40", "2026-12-01T18:05:00Z 0"},
			0,
		},
		"one under way is warm at once": {
			[]sale.Listing{listing("11:50", "14:00")},
			[]string{"2026-12-01T12:10:00Z 0"},
			40,
		},
		"one about to open too": {
			[]sale.Listing{listing("12:10", "14:00")},
			[]string{"2026-12-01T12:30:00Z 0"},
			40,
		},
		"one that is nearly there is warm at once": {
			[]sale.Listing{{Sale: sale.Sale{OpensAt: clock.Add(15*time.Minute + 5*time.Second), ClosesAt: at("14:00")}}},
			[]string{"2026-12-01T12:35:05Z 0"},
			40,
		},
		"one whose rush is over":  {[]sale.Listing{listing("10:00", "14:00")}, nil, 0},
		"one that is over":        {[]sale.Listing{listing("11:50", "11:55")}, nil, 0},
		"one that is nearly over": {[]sale.Listing{listing("11:50", "12:01")}, nil, 0},
		"two that overlap are one": {
			[]sale.Listing{listing("18:30", "20:00"), listing("18:00", "20:00")},
			[]string{"2026-12-01T17:45:00Z 40", "2026-12-01T18:50:00Z 0"},
			0,
		},
		"one within another": {
			[]sale.Listing{listing("18:00", "20:00"), listing("18:01", "18:03")},
			[]string{"2026-12-01T17:45:00Z 40", "2026-12-01T18:20:00Z 0"},
			0,
		},
		"two apart": {
			[]sale.Listing{listing("14:00", "20:00"), listing("18:00", "20:00")},
			[]string{"2026-12-01T13:45:00Z 40", "2026-12-01T14:20:00Z 0", "2026-12-01T17:45:00Z 40", "2026-12-01T18:20:00Z 0"},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, warmth := newScaler(t, func() time.Time { return clock })
			// Of a sale that is no more, and of somebody else.
			s.actions["flash-sale-warm-20261201T160000Z"], s.actions["flash-sale-cool-20261201T170000Z"] = "stale 40", "stale 0"
			s.actions["nightly"] = "theirs"
			for range 2 {
				if err := warmth.Schedule(t.Context(), tc.sales, clock); err != nil {
					t.Fatalf("Schedule: %v", err)
				}
				if got, want := s.scheduled(), append(tc.scheduled[:len(tc.scheduled):len(tc.scheduled)], "theirs"); !slices.Equal(got, want) {
					t.Errorf("scheduled: got %q, want %q", got, want)
				}
				if s.wanted != tc.now {
					t.Errorf("now: got %d environments, want %d", s.wanted, tc.now)
				}
			}
		})
	}

	t.Run("a call that fails", func(t *testing.T) {
		t.Parallel()
		for _, call := range []string{"DescribeScheduledActions", "DeleteScheduledAction", "PutScheduledAction", "RegisterScalableTarget"} {
			s, warmth := newScaler(t, func() time.Time { return clock })
			s.actions["flash-sale-warm-20261201T160000Z"] = "stale 40"
			s.fail = call
			if err := warmth.Schedule(t.Context(), []sale.Listing{listing("18:00", "20:00")}, clock); err == nil {
				t.Errorf("%s fails: got no error", call)
			}
			s.fail = ""
			if err := warmth.Schedule(t.Context(), []sale.Listing{listing("18:00", "20:00")}, clock); err != nil || len(s.scheduled()) != 2 {
				t.Errorf("%s again: got %v and %q, want the repair", call, err, s.scheduled())
			}
		}
	})
	t.Run("an action that has just gone", func(t *testing.T) {
		t.Parallel()
		s, warmth := newScaler(t, func() time.Time { return clock })
		s.actions["flash-sale-warm-20261201T160000Z"] = "stale 40"
		s.fail, s.code = "DeleteScheduledAction", "ObjectNotFoundException"
		if err := warmth.Schedule(t.Context(), []sale.Listing{listing("18:00", "20:00")}, clock); err != nil || len(s.scheduled()) != 3 {
			t.Errorf("got %v and %q, want what is wanted scheduled all the same", err, s.scheduled())
		}
	})
	t.Run("without a target", func(t *testing.T) {
		t.Parallel()
		if got := saleadmin.NewWarmth(config.Warm{}, config.AWS{}); got != nil {
			t.Errorf("NewWarmth: got %v, want nil", got)
		}
	})
}

// Through the actions: whatever moves a window moves what is scheduled.
func TestActionsKeepWarm(t *testing.T) {
	t.Parallel()
	o := open(t)
	s, warmth := newScaler(t, o.h.Now)
	o.h.Warmth = warmth
	sl := o.Sale(10)
	hour := func(n int) string {
		return o.h.Now().Add(time.Duration(n) * time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	}
	opens, later := hour(2), hour(3)
	when := func(opens string) []string {
		at, err := time.Parse(time.RFC3339, opens)
		if err != nil {
			t.Fatal(err)
		}
		return []string{at.Add(-15*time.Minute).Format(time.RFC3339) + " 40", at.Add(20*time.Minute).Format(time.RFC3339) + " 0"}
	}
	expect := func(after string, want []string) {
		t.Helper()
		if got := s.scheduled(); !slices.Equal(got, want) {
			t.Errorf("after %s: got %q, want %q", after, got, want)
		}
	}
	o.says(t, `{"action":"create","sale":%s}`, file(sl, opens, hour(5), 10))
	expect("create", when(opens))
	o.says(t, `{"action":"update","saleId":%d,"sale":%s}`, sl.ID, file(sl, later, hour(5), 10))
	expect("update", when(later))
	before := s.calls
	o.says(t, `{"action":"report","saleId":%d}`, sl.ID)
	wantRefusal(t, o.says(t, `{"action":"update","saleId":%d,"sale":{}}`, sl.ID), "BAD_REQUEST")
	if s.calls != before {
		t.Errorf("a report and a refusal: got %d calls, want none", s.calls-before)
	}
	s.fail = "RegisterScalableTarget"
	if _, err := o.h.Invoke(t.Context(), fmt.Appendf(nil, `{"action":"close","saleId":%d}`, sl.ID)); err == nil {
		t.Error("close that cannot cool: got no error, want one")
	}
	s.fail = ""
	o.says(t, `{"action":"close","saleId":%d}`, sl.ID)
	expect("close, said again", nil)
	if s.wanted != 0 {
		t.Errorf("after close: got %d environments, want 0", s.wanted)
	}
}
