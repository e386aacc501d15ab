package report_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"flashsale/localstack/stampede/report"
)

var opening = time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)

const shoppers, units = 400, 40

func head(part string, shoppers int) report.Report {
	return report.Report{
		Way: "target", Target: "http://localhost:3000", Parts: []string{part}, Seed: 7, OpensAt: opening, Shoppers: shoppers, Units: units,
		Habits: report.Habits{Spread: report.Duration(10 * time.Second), Pay: 0.5},
	}
}

// play records shopper i of an ordinary run.
func play(r *report.Recorder, i int) {
	random := rand.New(rand.NewPCG(1, uint64(i)))
	wanted := opening.Add(time.Duration(random.Int64N(int64(4*time.Second))) - time.Second)
	sent := wanted.Add(time.Duration(random.Int64N(int64(30 * time.Millisecond))))
	ended := sent.Add(time.Duration(random.Int64N(int64(300 * time.Millisecond))))
	r.Count(report.Arrived, wanted)
	s := report.Sample{Kind: report.Refusal, Answer: "POST 410 SOLD_OUT", Series: report.SeenSoldOut, Wanted: wanted, Sent: sent, Ended: ended}
	class := report.SoldOut
	if i%10 == 0 {
		id := fmt.Sprintf("order-%d", i)
		s.Kind, s.Answer, s.Series, class = report.Accepted, "POST 202", report.SeenAccepted, report.Bought
		r.Accepted(ended)
		r.Order(id)
		r.Written(1, ended.Add(time.Second))
		r.Sample(report.Sample{Kind: report.Poll, Answer: "GET 200", Series: report.SeenPoll, Wanted: ended, Sent: ended, Ended: ended.Add(time.Millisecond)})
		r.Orders(func(o *report.Orders) { o.Ends["PENDING"]++ })
	}
	r.Sample(s)
	r.Move("", class)
}

func whole() *report.Report {
	r := report.NewRecorder(head("1/1", shoppers))
	for i := range shoppers {
		play(r, i)
	}
	r.Orders(func(o *report.Orders) { o.SoldOutLast = true })
	return r.Close(nil)
}

func half(t *testing.T, part int) *report.Report {
	t.Helper()
	r := report.NewRecorder(head(fmt.Sprintf("%d/2", part), shoppers/2))
	for i := part - 1; i < shoppers; i += 2 {
		play(r, i)
	}
	r.Orders(func(o *report.Orders) { o.SoldOutLast = true })
	return again(t, r.Close(nil))
}

// again is a report that went through its JSON form.
func again(t *testing.T, r *report.Report) *report.Report {
	t.Helper()
	text, err := r.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := report.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func TestMerge(t *testing.T) {
	t.Parallel()
	want := whole()
	if want.Broken {
		t.Fatalf("the run is broken: %+v", want.Promises)
	}
	t.Run("two halves are the whole", func(t *testing.T) {
		t.Parallel()
		got, err := report.Merge(half(t, 2), half(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range report.Kinds {
			g, w := got.Latencies[kind], want.Latencies[kind]
			if !g.Corrected.Equal(w.Corrected) || !g.Plain.Equal(w.Plain) {
				t.Errorf("latencies of %s differ: %d calls, want %d", kind, g.Corrected.Count(), w.Corrected.Count())
			}
		}
		same(t, got, want)
	})
	t.Run("merging merged parts", func(t *testing.T) {
		t.Parallel()
		one, err := report.Merge(half(t, 1))
		if err != nil {
			t.Fatal(err)
		}
		got, err := report.Merge(again(t, one), half(t, 2))
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Orders.IDs) != units || got.Shoppers != shoppers || got.Broken {
			t.Errorf("got %d orders of %d shoppers, broken %t; want %d of %d, false", len(got.Orders.IDs), got.Shoppers, got.Broken, units, shoppers)
		}
	})
	t.Run("one order in two parts is seen", func(t *testing.T) {
		t.Parallel()
		two := half(t, 2)
		two.Orders.Told++
		two.Orders.IDs = append(two.Orders.IDs, half(t, 1).Orders.IDs[0])
		if got, err := report.Merge(half(t, 1), two); err != nil || !broke(got, "Answers and order ids agree") {
			t.Errorf("got %v, %v, want it broken", got.Promises, err)
		}
	})
	t.Run("a part that did not hear the end", func(t *testing.T) {
		t.Parallel()
		two := half(t, 2)
		two.Orders.SoldOutLast = false
		two.Orders.Ends["PENDING"]--
		if got, err := report.Merge(half(t, 1), two); err != nil || got.Broken || judged(got, "Nothing undersold") {
			t.Errorf("got %+v, %v; want what was undersold unseen", got.Promises, err)
		}
	})
	t.Run("what does not belong together", func(t *testing.T) {
		t.Parallel()
		for name, spoil := range map[string]func(*report.Report){
			"twice":            func(r *report.Report) { r.Parts = []string{"1/2"} },
			"another division": func(r *report.Report) { r.Parts = []string{"2/3"} },
			"another seed":     func(r *report.Report) { r.Seed++ },
			"another opening":  func(r *report.Report) { r.OpensAt = r.OpensAt.Add(time.Second) },
			"other habits":     func(r *report.Report) { r.Habits.Pay = 1 },
			"a lottery":        func(r *report.Report) { r.Lottery = true },
			"no latencies":     func(r *report.Report) { r.Latencies = nil },
			"crooked series":   func(r *report.Report) { r.Timeline.Counts[report.Sent] = nil },
			"unknown series":   func(r *report.Report) { r.Timeline.Counts["x"] = r.Timeline.Counts[report.Sent] },
		} {
			two := half(t, 2)
			spoil(two)
			if _, err := report.Merge(half(t, 1), two); err == nil {
				t.Errorf("%s: merged, want an error", name)
			}
		}
	})
}

// same compares all that is not a latency.
func same(t *testing.T, got, want *report.Report) {
	t.Helper()
	g, w := *got, *want
	g.Latencies, w.Latencies, g.Parts, w.Parts = nil, nil, nil, nil
	if g.Notes == nil {
		w.Notes = nil
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got\n%+v\nwant\n%+v", g, w)
	}
}

func broke(r *report.Report, promise string) bool {
	for _, p := range r.Promises {
		if p.Name == promise {
			return r.Broken && p.Judged && !p.Kept
		}
	}
	return false
}

func judged(r *report.Report, promise string) bool {
	return slices.ContainsFunc(r.Promises, func(p report.Promise) bool { return p.Name == promise && p.Judged })
}

func TestJudge(t *testing.T) {
	t.Parallel()
	system := func(r *report.Report) *report.System {
		r.System = &report.System{Rows: map[string]int{"PENDING": units}, Sold: units, Conserved: true}
		return r.System
	}
	for promise, spoils := range map[string][]func(*report.Report){
		"Every shopper is accounted for": {
			func(r *report.Report) { r.Classes[report.SoldOut]-- },
			func(r *report.Report) { r.Classes[report.SoldOut]--; r.Classes[report.Unfinished]++ },
			func(r *report.Report) { r.Classes = map[report.Class]int{report.GaveUp: shoppers} },
		},
		"Never one too many": {
			func(r *report.Report) { r.Orders.Ends["PAID"]++ },
			func(r *report.Report) { system(r).Rows["PAID"]++ },
		},
		"Never one lost":              {func(r *report.Report) { r.Orders.Lost++ }},
		"One order for a shopper":     {func(r *report.Report) { r.Orders.Double++ }},
		"Nobody sees another's order": {func(r *report.Report) { r.Orders.Foreign++ }},
		"Answers and order ids agree": {func(r *report.Report) { r.Orders.IDs[1] = r.Orders.IDs[0] }},
		"Answers, order ids and rows agree": {
			func(r *report.Report) { system(r).Rows["EXPIRED"]++ },
			func(r *report.Report) { system(r).Rows["PENDING"]-- },
		},
		"Every order is written":          {func(r *report.Report) { r.Orders.Unopened++ }},
		"Nobody buys before the own turn": {func(r *report.Report) { r.Lottery = true; r.Orders.Early++ }},
		"Payments and cancels last":       {func(r *report.Report) { r.Orders.Undone++ }},
		"Nothing undersold":               {func(r *report.Report) { r.Orders.Ends["PENDING"]--; r.Orders.Ends["CANCELLED"]++ }},
		"No strange answers": {
			func(r *report.Report) { r.Answers["POST 500 INTERNAL"]++ },
			func(r *report.Report) { r.Answers["GET 404 UNKNOWN_ORDER"]++ },
			func(r *report.Report) { r.Answers["POST 202 SOLD_OUT"]++ },
		},
		"The system is whole": {
			func(r *report.Report) { system(r).Conserved = false },
			func(r *report.Report) { system(r).Drift = -1 },
			func(r *report.Report) { system(r).Waiting = 1 },
		},
	} {
		t.Run(promise, func(t *testing.T) {
			t.Parallel()
			for i, spoil := range spoils {
				r := again(t, whole())
				spoil(r)
				r.Judge()
				if !broke(r, promise) {
					t.Errorf("case %d: kept, want broken: %+v", i, r.Promises)
				}
			}
		})
	}
	t.Run("what cannot be seen is not judged", func(t *testing.T) {
		t.Parallel()
		r := again(t, whole())
		r.Units = 0
		if r.Judge(); r.Broken {
			t.Errorf("broken: %+v", r.Promises)
		}
		for _, p := range r.Promises {
			if (p.Name == "Never one too many" || p.Name == "Nothing undersold") == p.Judged {
				t.Errorf("%s: judged %t", p.Name, p.Judged)
			}
		}
	})
	t.Run("undersold is judged by who heard it last", func(t *testing.T) {
		t.Parallel()
		for name, test := range map[string]struct {
			spoil  func(*report.Report)
			judged bool
		}{
			"the last one refused":       {func(*report.Report) {}, true},
			"nobody heard it to the end": {func(r *report.Report) { r.Orders.SoldOutLast = false }, false},
			"nobody was refused": {func(r *report.Report) {
				r.Orders.SoldOutLast = false
				r.Classes[report.Closed], r.Classes[report.SoldOut] = r.Classes[report.SoldOut], 0
			}, true},
		} {
			r := again(t, whole())
			test.spoil(r)
			if r.Judge(); r.Broken || judged(r, "Nothing undersold") != test.judged {
				t.Errorf("%s: broken %t, judged %t; want false, %t", name, r.Broken, !test.judged, test.judged)
			}
		}
	})
	t.Run("a row of a purchase that was given up is no order", func(t *testing.T) {
		t.Parallel()
		r := again(t, whole())
		system(r).Rows["REJECTED"] = 5
		if r.Judge(); r.Broken {
			t.Errorf("broken: %+v", r.Promises)
		}
	})
	t.Run("a gateway's own busy answers are none of ours", func(t *testing.T) {
		t.Parallel()
		r := again(t, whole())
		r.Answers["POST 429 Too Many"]++
		r.Answers["POST 503"]++
		if r.Judge(); r.Broken {
			t.Errorf("broken: %+v", r.Promises)
		}
	})
}
