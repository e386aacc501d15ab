package purchase_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"flashsale/shared/admission"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/throttle"
)

const passKey config.Secret = "k1:the key of the tests"

// spreads makes the counter sell by passes, and returns who gives them out.
func (c *counter) spreads(t *testing.T) *admission.Office {
	t.Helper()
	settings := config.Admission{AdmissionKeys: config.AdmissionKeys{PassKeys: []config.Secret{passKey}}, Lottery: "the lottery of the tests"}
	office, err := admission.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	if c.h.Gate.Passes, err = admission.NewKeys(settings.AdmissionKeys); err != nil {
		t.Fatal(err)
	}
	return office
}

func issue(t *testing.T, office *admission.Office, sl sale.Sale, user string) string {
	t.Helper()
	pass, _, err := office.Issue(&sl, user)
	if err != nil {
		t.Fatal(err)
	}
	return pass
}

// brings is a purchase of the first item with that pass; none for "".
func (c *counter) brings(t *testing.T, sl sale.Sale, user, pass string) answer {
	t.Helper()
	made := call{item: itemText(sl, 0), bearer: provider.Token(user)}
	if pass != "" {
		made.multi = map[string][]string{"x-admission-pass": {pass}}
	}
	return c.answer(t, made)
}

// spread is a sale with a spread that is over for everybody.
func (c *counter) spread(quantity int) sale.Sale {
	sl := c.Sale(quantity)
	sl.Spread = time.Minute
	return sl
}

// TestAdmission tries what can be wrong with a pass, and what is good.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	office := c.spreads(t)
	sl, other, changed := c.spread(5), c.spread(5), c.spread(5)
	for _, s := range []sale.Sale{sl, other, changed} {
		c.Offer(t, s, nil)
	}
	before := changed
	before.OpensAt = changed.OpensAt.Add(-time.Second)
	c.List(t, sl, other, changed)
	stranger, err := admission.New(config.Admission{
		AdmissionKeys: config.AdmissionKeys{PassKeys: []config.Secret{"k2:the key of a stranger"}}, Lottery: "the lottery of a stranger",
	})
	if err != nil {
		t.Fatal(err)
	}
	over := sl
	over.ClosesAt = time.Now().Add(-time.Second)
	good := issue(t, office, sl, "u1")
	for name, pass := range map[string]string{
		"none": "", "not one": "x", "another shopper's": issue(t, office, sl, "u2"), "another sale's": issue(t, office, other, "u1"),
		"forged":            good[:len(good)-1] + map[bool]string{true: "B", false: "A"}[good[len(good)-1] == 'A'],
		"by an unknown key": issue(t, stranger, sl, "u1"), "expired": issue(t, office, over, "u1"), "of a sale without a spread": admission.Unneeded,
	} {
		a := c.brings(t, sl, "u1", pass)
		if a.want(t, 403, "ADMISSION_REQUIRED"); a.Body.NotBefore != "" || a.Headers["Retry-After"] != "" {
			t.Errorf("%s: got %s, Retry-After %q, want neither time nor wait", name, a.Text, a.Headers["Retry-After"])
		}
	}
	twice := call{item: itemText(sl, 0), bearer: provider.Token("u1"), multi: map[string][]string{"X-Admission-Pass": {good, good}}}
	c.answer(t, twice).want(t, 403, "ADMISSION_REQUIRED")
	// The opening was moved: the page fetches another pass.
	c.brings(t, changed, "u1", issue(t, office, before, "u1")).want(t, 403, "ADMISSION_REQUIRED")
	c.brings(t, changed, "u1", issue(t, office, changed, "u1")).want(t, 202, "")
	c.WantUnits(t, sl, 0, [4]int64{5, 0, 0, 0})
	c.brings(t, sl, "u1", good).want(t, 202, "")
	c.brings(t, sl, "u1", good).want(t, 409, "ALREADY_PURCHASED")
	c.WantUnits(t, sl, 0, [4]int64{4, 1, 0, 0})
}

// TestTooEarly brings a good pass before its time.
func TestTooEarly(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	office := c.spreads(t)
	sl := c.spread(5)
	c.Offer(t, sl, nil)
	c.List(t, sl)
	pass, notBefore, _ := office.Issue(&sl, "u1")
	now := notBefore.Add(-1500 * time.Millisecond)
	c.h.Gate.Now = func() time.Time { return now }
	a := c.brings(t, sl, "u1", pass)
	a.want(t, 403, "ADMISSION_REQUIRED")
	if at, err := time.Parse(time.RFC3339Nano, a.Body.NotBefore); err != nil || !at.Equal(notBefore) || a.Headers["Retry-After"] != "2" {
		t.Errorf("got %s, Retry-After %q, want %s and 2", a.Text, a.Headers["Retry-After"], notBefore)
	}
	now = notBefore
	c.brings(t, sl, "u1", pass).want(t, 202, "")
}

// TestNoKeys fails closed, but tells winners of their orders all the same.
func TestNoKeys(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	sl := c.spread(5)
	c.Offer(t, sl, nil)
	c.List(t, sl)
	c.Reserve(t, sl, 0, "winner")
	c.brings(t, sl, "u1", admission.Unneeded).want(t, 503, "TRY_AGAIN")
	c.brings(t, sl, "winner", "").want(t, 409, "ALREADY_PURCHASED")
}

// TestBarredPrecedence: own hold, pauses and window come before pass and limit, these
// before sold out, and the pass before the limit.
func TestBarredPrecedence(t *testing.T) {
	t.Parallel()
	c := open(t, silent(t))
	office := c.spreads(t)
	c.h.Gate.Limit = throttle.New(config.Rate{Calls: 1, Window: time.Hour}, time.Now)
	type row struct {
		name       string
		pass, free bool // a good pass; the limit not reached
		own, out   bool // a hold; sold out
		change     func(*sale.Settings)
		status     int
		code       string
	}
	rows := []row{
		{"own hold, no pass, limit", false, false, true, true, nil, 409, "ALREADY_PURCHASED"},
		{"paused, no pass, limit", false, false, false, false, paused, 503, "TRY_AGAIN"},
		{"not open, no pass, limit", false, false, false, false, early, 403, "SALE_NOT_OPEN"},
		{"closed, no pass, limit", false, false, false, false, over, 410, "SALE_CLOSED"},
		{"no pass, limit, sold out", false, false, false, true, nil, 403, "ADMISSION_REQUIRED"},
		{"no pass, sold out", false, true, false, true, nil, 403, "ADMISSION_REQUIRED"},
		{"limit, sold out", true, false, false, true, nil, 429, "TOO_MANY_REQUESTS"},
		{"limit", true, false, false, false, nil, 429, "TOO_MANY_REQUESTS"},
		{"sold out", true, true, false, true, nil, 410, "SOLD_OUT"},
	}
	sales := make([]sale.Sale, len(rows))
	for i, r := range rows {
		sales[i] = c.spread(1)
		c.Offer(t, sales[i], nil)
		if r.own {
			c.Reserve(t, sales[i], 0, r.name)
		} else if r.out {
			c.Reserve(t, sales[i], 0, "somebody")
		}
		c.Steer(t, sales[i], 2, r.change)
	}
	c.List(t, sales...)
	for i, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			pass := ""
			if r.pass {
				pass = issue(t, office, sales[i], r.name)
			}
			if !r.free {
				c.h.Gate.Limit.Take(r.name)
			}
			before := c.Check(t, sales[i])
			a := c.brings(t, sales[i], r.name, pass)
			a.want(t, r.status, r.code)
			if wait, _ := strconv.Atoi(a.Headers["Retry-After"]); (wait > 0) != (r.status == 429 || r.status == 503 || r.code == "SALE_NOT_OPEN") {
				t.Errorf("Retry-After: got %q", a.Headers["Retry-After"])
			}
			if after := c.Check(t, sales[i]); !reflect.DeepEqual(before, after) {
				t.Errorf("a refusal changed the shard from %+v to %+v", before, after)
			}
		})
	}
}

// TestWithoutSpread costs nothing: whatever the pass is, nobody looks at it.
func TestWithoutSpread(t *testing.T) {
	t.Parallel()
	c := open(t, fault(nothingWrong))
	sl := c.sells(t, 5)
	for i, pass := range []string{"", "x", admission.Unneeded} {
		c.brings(t, sl, "u"+strconv.Itoa(i), pass).want(t, 202, "")
	}
}
