package admission_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"flashsale/shared/admission"
)

// The crowd that is simulated. Keys and random numbers are fixed, so the figures are
// the same in every run, and the bounds cannot fail by chance.
const (
	crowd  = 200_000
	spread = time.Minute
)

// A shopper of the simulation. Scripts come first and ask again and again.
type shopper struct {
	arrives   time.Duration // before the opening
	requests  int
	user      string
	pass      string
	notBefore time.Time
	place     float64 // in the lottery, 0 to 1
}

// drawn lets the crowd fetch its passes, each as early and as often as it likes, at
// two environments of which one has the next key already.
func drawn(t *testing.T) []shopper {
	t.Helper()
	drawing.Do(func() { draw(t) })
	return slices.Clone(shoppers)
}

var (
	drawing  sync.Once
	shoppers []shopper
)

func draw(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a simulation
	sl := spreadSale(spread)
	offices := []*admission.Office{office(t, draws, oldKey), office(t, draws, newKey, oldKey)}
	all := make([]shopper, crowd)
	for i := range all {
		s := &all[i]
		s.arrives, s.requests = time.Duration(random.Int64N(int64(10*time.Minute))), 1+random.IntN(4)/3
		if i%50 == 0 {
			s.arrives, s.requests = 10*time.Minute, 10
		}
		s.user = fmt.Sprintf("%08x-%04x", random.Uint32(), i)
		for n := range s.requests {
			pass, notBefore, err := offices[random.IntN(2)].Issue(sl, s.user)
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 && !notBefore.Equal(s.notBefore) {
				t.Fatalf("request %d of %s: got %s, before it was %s", n+1, s.user, notBefore, s.notBefore)
			}
			s.pass, s.notBefore = pass, notBefore
		}
		s.place = float64(s.notBefore.Sub(sl.OpensAt)) / float64(spread)
	}
	shoppers = all
}

// TestFairness: places are uniform, and neither coming early nor asking often has
// anything to do with them.
func TestFairness(t *testing.T) {
	t.Parallel()
	all := drawn(t)
	places := make([]float64, len(all))
	for i, s := range all {
		places[i] = s.place
	}
	// Kolmogorov and Smirnov: the largest gap to the uniform distribution; 1.63/√n at 1 %.
	slices.Sort(places)
	gap := 0.0
	for i, p := range places {
		gap = max(gap, math.Abs(p-float64(i)/crowd), math.Abs(p-float64(i+1)/crowd))
	}
	if limit := 1.63 / math.Sqrt(crowd); gap > limit {
		t.Errorf("uniform: the gap is %.5f, want at most %.5f", gap, limit)
	}
	t.Logf("places of %d shoppers: gap to uniform %.5f (1 %% level %.5f)", crowd, gap, 1.63/math.Sqrt(crowd))

	byTime := func(s shopper) int { return min(9, int(s.arrives/time.Minute)) }
	byRequests := func(s shopper) int { return min(2, s.requests-1) } // the last are the scripts
	for _, c := range []struct {
		what  string
		rows  int
		row   func(shopper) int
		limit float64 // of chi² at 1 %, for (rows-1)·9 degrees of freedom
	}{
		{"arrival time", 10, byTime, 113.5},
		{"number of requests", 3, byRequests, 34.81},
	} {
		chi2, means := independence(all, c.rows, c.row)
		if chi2 > c.limit {
			t.Errorf("%s: chi² is %.1f, want at most %.1f", c.what, chi2, c.limit)
		}
		t.Logf("place by %s: chi² %.1f (1 %% level %.1f), mean place by group %.3f", c.what, chi2, c.limit, means)
	}
	// The simulation would show a lottery that favours the early.
	for i := range all {
		all[i].place = math.Pow(all[i].place, 1+all[i].arrives.Minutes()/100)
	}
	if chi2, _ := independence(all, 10, byTime); chi2 < 113.5 {
		t.Errorf("a lottery that favours the early: chi² is %.1f, want it found out", chi2)
	}
}

// independence is chi² of a table of groups against tenths of the places.
func independence(all []shopper, rows int, row func(shopper) int) (chi2 float64, means []float64) {
	table, inRow, inColumn := make([][10]float64, rows), make([]float64, rows), [10]float64{}
	means = make([]float64, rows)
	for _, s := range all {
		r, c := row(s), min(9, int(s.place*10))
		table[r][c]++
		inRow[r]++
		inColumn[c]++
		means[r] += s.place
	}
	for r := range table {
		means[r] /= inRow[r]
		for c := range table[r] {
			expected := inRow[r] * inColumn[c] / float64(len(all))
			chi2 += (table[r][c] - expected) * (table[r][c] - expected) / expected
		}
	}
	return chi2, means
}

// TestArrivalCurve is the crowd at the origin. Each page waits for its notBefore by a
// clock that may be wrong, then up to 300 ms more, and comes again after Retry-After
// where it was too early; two in a hundred are scripts that do not wait but repeat every
// second.
// Edge and function judge by Judge itself.
func TestArrivalCurve(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // a simulation
	sl, keys := spreadSale(spread), keysOf(t, newKey, oldKey)
	const seconds = int(spread/time.Second) + 2
	var edge, origin [seconds]int
	for i, s := range drawn(t) {
		script, notBefore := i%50 == 0, s.notBefore
		clock := time.Duration(random.NormFloat64() * float64(300*time.Millisecond))
		at := notBefore.Add(clock + time.Duration(random.Int64N(int64(300*time.Millisecond))))
		if script {
			at = sl.OpensAt.Add(time.Duration(random.Int64N(int64(time.Second))))
		}
		for at.Before(sl.OpensAt) {
			at = at.Add(time.Second) // answered SALE_NOT_OPEN
		}
		for {
			second := int(at.Sub(sl.OpensAt) / time.Second)
			edge[second]++
			if verdict(keys.Judge(s.pass, sl, s.user, at)) == "admitted" {
				origin[second]++
				break
			}
			retryAfter := (notBefore.Sub(at) + time.Second - 1).Truncate(time.Second)
			if script {
				retryAfter = time.Second
			}
			at = at.Add(retryAfter + time.Duration(random.Int64N(int64(300*time.Millisecond))))
		}
	}
	mean := crowd / spread.Seconds()
	peak, total := slices.Max(origin[:]), 0
	for _, n := range origin {
		total += n
	}
	t.Logf("%d shoppers over %s: %.0f a second if they came uniformly; at the origin at most %d, at the edge at most %d",
		crowd, spread, mean, peak, slices.Max(edge[:]))
	t.Logf("at the origin, by second: %v", origin)
	if total != crowd {
		t.Errorf("at the origin: %d shoppers, want all %d", total, crowd)
	}
	if bound := 1.1 * mean; float64(peak) > bound {
		t.Errorf("at the origin: a peak of %d a second, want at most %.0f, a tenth above the mean", peak, bound)
	}
}
