package admission_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"flashsale/shared/admission"
	"flashsale/shared/config"
	"flashsale/shared/sale"
)

func spreadSale(spread time.Duration) *sale.Sale {
	opens := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	return &sale.Sale{ID: 7, OpensAt: opens, ClosesAt: opens.Add(2 * time.Hour), Spread: spread}
}

func TestWithoutSpread(t *testing.T) {
	t.Parallel()
	var none *admission.Office
	for name, o := range map[string]*admission.Office{"nil": none, "no keys": office(t, ""), "keys": office(t, draws, newKey)} {
		sl := spreadSale(0)
		if pass, notBefore, err := o.Issue(sl, "u1"); err != nil || pass != admission.Unneeded || !notBefore.Equal(sl.OpensAt) {
			t.Errorf("%s: got %q, %s, %v, want a pass that nobody needs, from the opening on", name, pass, notBefore, err)
		}
	}
}

func TestWithoutKeys(t *testing.T) {
	t.Parallel()
	var noOffice *admission.Office
	var noKeys *admission.Keys
	sl := spreadSale(time.Minute)
	for name, o := range map[string]*admission.Office{"nil": noOffice, "no keys": office(t, ""), "no lottery": office(t, "", newKey)} {
		if pass, _, err := o.Issue(sl, "u1"); !errors.Is(err, admission.ErrNoKeys) || pass != "" || o.Ready() {
			t.Errorf("%s: got %q, %v, want ErrNoKeys", name, pass, err)
		}
	}
	for name, k := range map[string]*admission.Keys{"nil": noKeys, "none": keysOf(t)} {
		if err := k.Judge(admission.Unneeded, sl, "u1", sl.OpensAt); !errors.Is(err, admission.ErrNoKeys) {
			t.Errorf("%s: got %v, want ErrNoKeys", name, err)
		}
	}
	if _, err := admission.New(config.Admission{AdmissionKeys: config.AdmissionKeys{PassKeys: []config.Secret{"x"}}}); err == nil {
		t.Error("a key that is none: got no error")
	}
}

// TestRotation replaces the keys step by step while passes are out. Nobody's place
// changes, and who has a pass keeps it as long as its key is known.
func TestRotation(t *testing.T) {
	t.Parallel()
	sl := spreadSale(time.Minute)
	first, both, second := []config.Secret{oldKey}, []config.Secret{newKey, oldKey}, []config.Secret{newKey}
	for i := range 200 {
		user := fmt.Sprint("u", i)
		old, place, _ := office(t, draws, first...).Issue(sl, user)
		renewed, same, _ := office(t, draws, both...).Issue(sl, user)
		if old == renewed || !place.Equal(same) {
			t.Fatalf("%s: got the same pass or another place, %s and %s", user, place, same)
		}
		for _, c := range []struct {
			keys []config.Secret
			pass string
			good bool
		}{
			{first, old, true},
			{first, renewed, false}, // so a new key must first be known to all, and only then sign
			{both, old, true},
			{both, renewed, true},
			{second, old, false},
			{second, renewed, true},
		} {
			if err := keysOf(t, c.keys...).Judge(c.pass, sl, user, place); (err == nil) != c.good {
				t.Errorf("%d keys, %s: got %v, want good %v", len(c.keys), c.pass, err, c.good)
			}
		}
	}
}

// TestPlaces is about single places; fairness_test.go is about all of them.
func TestPlaces(t *testing.T) {
	t.Parallel()
	for _, spread := range []time.Duration{time.Millisecond, 3 * time.Millisecond, time.Minute, 30 * 24 * time.Hour} {
		sl, o := spreadSale(spread), office(t, draws, newKey)
		for i := range 500 {
			_, notBefore, err := o.Issue(sl, fmt.Sprint("u", i))
			if wait := notBefore.Sub(sl.OpensAt); err != nil || wait < 0 || wait >= spread || wait%time.Millisecond != 0 {
				t.Fatalf("spread %s: got a wait of %s, %v", spread, wait, err)
			}
		}
	}
	sl, o := spreadSale(24*time.Hour), office(t, draws, newKey)
	place := func(o *admission.Office, sl *sale.Sale, user string) time.Duration {
		_, notBefore, _ := o.Issue(sl, user)
		return notBefore.Sub(sl.OpensAt)
	}
	mine := place(o, sl, "u1")
	other := *sl
	other.ID = 8
	for name, wait := range map[string]time.Duration{
		"another shopper": place(o, sl, "u2"), "another sale": place(o, &other, "u1"),
		"another lottery": place(office(t, "another lottery, as long", newKey), sl, "u1"),
	} {
		if wait == mine {
			t.Errorf("%s: got the same place, %s", name, wait)
		}
	}
	// An opening that moves takes all places along.
	later := *sl
	later.OpensAt = later.OpensAt.Add(time.Hour)
	if got := place(o, &later, "u1"); got != mine {
		t.Errorf("a later opening: got a wait of %s, want %s", got, mine)
	}
}

func BenchmarkJudge(b *testing.B) {
	sl, keys := spreadSale(time.Minute), keysOf(b, newKey)
	pass, notBefore, _ := office(b, draws, newKey).Issue(sl, "3f2b8c1e-6a1d-4e0f-9b52-7d1f0c2a9e44")
	b.ReportAllocs()
	for b.Loop() {
		if err := keys.Judge(pass, sl, "3f2b8c1e-6a1d-4e0f-9b52-7d1f0c2a9e44", notBefore); err != nil {
			b.Fatal(err)
		}
	}
}
