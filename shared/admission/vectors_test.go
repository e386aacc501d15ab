package admission_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"flashsale/shared/admission"
	"flashsale/shared/config"
	"flashsale/shared/sale"
)

var update = flag.Bool("update", false, "write the test vectors anew")

// vectorFile is read by the edge function's tests too.
const vectorFile = "../../web/edge/testdata/vectors.json"

// vectors are passes and what both judges must say of them.
type vectors struct {
	Keys    string   `json:"keys"`
	Lottery string   `json:"lottery"`
	Passes  []vector `json:"passes"`
}

type vector struct {
	Name      string    `json:"name"`
	Pass      string    `json:"pass"`
	UserID    string    `json:"userId"`
	SaleID    sale.ID   `json:"saleId"`
	OpensAt   time.Time `json:"opensAt"`
	Spread    int64     `json:"spread"` // milliseconds
	ClosesAt  time.Time `json:"closesAt"`
	NotBefore time.Time `json:"notBefore"` // of the pass that the shopper should have
	Now       time.Time `json:"now"`
	Function  string    `json:"function"` // the purchase function's verdict: admitted, required or early
	Edge      string    `json:"edge"`     // the edge function's: that or not open; it does not know of changes to the sale
}

const (
	newKey = "k2:the second key of the vectors"
	oldKey = "k1:the first key of the vectors"
	draws  = "the lottery of the vectors"
)

func office(t testing.TB, lottery string, keys ...config.Secret) *admission.Office {
	t.Helper()
	o, err := admission.New(config.Admission{AdmissionKeys: config.AdmissionKeys{PassKeys: keys}, Lottery: config.Secret(lottery)})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func keysOf(t testing.TB, keys ...config.Secret) *admission.Keys {
	t.Helper()
	k, err := admission.NewKeys(config.AdmissionKeys{PassKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (v vector) sale() *sale.Sale {
	return &sale.Sale{ID: v.SaleID, OpensAt: v.OpensAt, ClosesAt: v.ClosesAt, Spread: time.Duration(v.Spread) * time.Millisecond}
}

// made builds the vectors from the shopper u1's pass for sale 7.
func made(t *testing.T) vectors {
	t.Helper()
	o := office(t, draws, newKey, oldKey)
	opens := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	base := vector{UserID: "u1", SaleID: 7, OpensAt: opens, Spread: 60_000, ClosesAt: opens.Add(2 * time.Hour), Function: "admitted", Edge: "admitted"}
	v := vectors{Keys: newKey + "," + oldKey, Lottery: draws}
	// add issues the pass for the vector as it is; change then spoils either.
	add := func(name, function, edge string, before, change func(*vector)) {
		t.Helper()
		one := base
		one.Name, one.Function, one.Edge = name, function, edge
		if before != nil {
			before(&one)
		}
		pass, notBefore, err := o.Issue(one.sale(), one.UserID)
		if err != nil {
			t.Fatal(err)
		}
		one.Pass, one.NotBefore, one.Now = pass, notBefore, notBefore.Add(time.Second)
		if change != nil {
			change(&one)
		}
		v.Passes = append(v.Passes, one)
	}
	at := func(since func(*vector) time.Time, d time.Duration) func(*vector) {
		return func(one *vector) { one.Now = since(one).Add(d) }
	}
	notBefore := func(one *vector) time.Time { return one.NotBefore }
	closesAt := func(one *vector) time.Time { return one.ClosesAt }
	text := func(change func(string) string) func(*vector) {
		return func(one *vector) { one.Pass = change(one.Pass) }
	}
	field := func(n int, to string) func(*vector) {
		return text(func(pass string) string {
			fields := strings.Split(pass, ".")
			fields[n] = to
			return strings.Join(fields, ".")
		})
	}
	by := func(other *admission.Office) func(*vector) {
		return func(one *vector) { one.Pass, _, _ = other.Issue(one.sale(), one.UserID) }
	}

	add("good", "admitted", "admitted", nil, nil)
	add("good, by the key that is going", "admitted", "admitted", nil, by(office(t, draws, oldKey, newKey)))
	add("good, a shopper beyond ASCII", "admitted", "admitted", func(one *vector) { one.UserID = "zoë \"🛒\" \\ 語" }, nil)
	add("good, a shopper with points", "admitted", "admitted", func(one *vector) { one.UserID = "auth0|a.b.c" }, nil)
	add("as early as clocks may differ", "admitted", "admitted", nil, at(notBefore, -250*time.Millisecond))
	add("a millisecond earlier", "early", "early", nil, at(notBefore, -251*time.Millisecond))
	add("at the opening", "early", "early", nil, func(one *vector) { one.Now = one.OpensAt })
	add("before the opening", "early", "not open", nil, func(one *vector) { one.Now = one.OpensAt.Add(-time.Minute) })
	add("as late as clocks may differ", "admitted", "admitted", nil, at(closesAt, 249*time.Millisecond))
	add("expired", "required", "required", nil, at(closesAt, 250*time.Millisecond))
	add("another shopper's", "required", "required", nil, func(one *vector) { one.UserID = "u2" })
	add("another shopper's, who has a prefix of the name", "required", "required", nil, func(one *vector) { one.UserID = "u" })
	add("another sale's", "required", "required", func(one *vector) { one.SaleID = 8 }, func(one *vector) { one.SaleID = 7 })
	add("unknown key", "required", "required", nil, by(office(t, draws, "k3:the third key of the vectors")))
	add("a known key's id, another secret", "required", "required", nil, by(office(t, draws, "k2:not the second key of the vectors")))
	add("a later opening since", "required", "admitted", nil, func(one *vector) { one.OpensAt = one.OpensAt.Add(time.Second) })
	add("another spread since", "required", "admitted", nil, func(one *vector) { one.Spread++ })
	add("a later end since", "admitted", "admitted", nil, func(one *vector) { one.ClosesAt = one.ClosesAt.Add(time.Hour) })
	add("a place moved to the front", "required", "required", nil, field(5, "0"))
	add("an end moved back", "required", "required", nil, field(6, "99999999999999"))
	add("another sale's id put in", "required", "required", func(one *vector) { one.SaleID = 8 }, func(one *vector) { field(2, "7")(one); one.SaleID = 7 })
	add("another version", "required", "required", nil, field(0, "2"))
	add("empty key id", "required", "required", nil, field(1, ""))
	add("the other key's id", "required", "required", nil, field(1, "k1"))
	add("no signature", "required", "required", nil, field(7, ""))
	add("half a signature", "required", "required", nil, text(func(pass string) string { return pass[:len(pass)-20] }))
	add("a longer signature", "required", "required", nil, text(func(pass string) string { return pass + "A" }))
	add("padded", "required", "required", nil, text(func(pass string) string { return pass + "=" }))
	add("one field more", "required", "required", nil, text(func(pass string) string { return pass + "." }))
	add("one field less", "required", "required", nil, text(func(pass string) string { return pass[2:] }))
	add("spaces around", "required", "required", nil, text(func(pass string) string { return " " + pass + " " }))
	add("the pass of a sale without a spread", "required", "required", nil, text(func(string) string { return admission.Unneeded }))
	add("nothing", "required", "required", nil, text(func(string) string { return "" }))
	return v
}

// verdict is what Judge says, as the vectors have it.
func verdict(err error) string {
	early, isEarly := errors.AsType[*admission.EarlyError](err)
	switch {
	case err == nil:
		return "admitted"
	case isEarly && !early.NotBefore.IsZero():
		return "early"
	case errors.Is(err, admission.ErrRequired):
		return "required"
	}
	return err.Error()
}

func TestVectors(t *testing.T) {
	t.Parallel()
	want := made(t)
	if *update {
		text, err := json.MarshalIndent(want, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(vectorFile, append(text, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(vectorFile)
	if err != nil {
		t.Fatal(err)
	}
	var got vectors
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is not what is made now; a pass that is out would no longer be good (write it with -update)", vectorFile)
	}
	keys := keysOf(t, newKey, oldKey)
	for _, v := range got.Passes {
		if said := verdict(keys.Judge(v.Pass, v.sale(), v.UserID, v.Now)); said != v.Function {
			t.Errorf("%s: got %s, want %s", v.Name, said, v.Function)
		}
	}
}

// TestEveryCharacterCounts changes each character of a good pass.
func TestEveryCharacterCounts(t *testing.T) {
	t.Parallel()
	good, keys := made(t).Passes[0], keysOf(t, newKey, oldKey)
	for i := range len(good.Pass) {
		for _, to := range "0A." {
			if changed := good.Pass[:i] + string(to) + good.Pass[i+1:]; changed != good.Pass {
				if said := verdict(keys.Judge(changed, good.sale(), good.UserID, good.Now)); said != "required" {
					t.Errorf("%s instead of %s: got %s, want required", changed, good.Pass, said)
				}
			}
		}
	}
}

func FuzzJudge(f *testing.F) {
	keys := keysOf(f, newKey)
	o := office(f, draws, newKey)
	opens := time.Date(2026, 12, 1, 18, 0, 0, 0, time.UTC)
	sl := &sale.Sale{ID: 7, OpensAt: opens, ClosesAt: opens.Add(time.Hour), Spread: time.Minute}
	good, _, _ := o.Issue(sl, "u1")
	f.Add(good, "u1")
	f.Add("1.k2.7.0.0.0.0.", "")
	f.Add("1.k2.......", "u1")
	f.Fuzz(func(t *testing.T, pass, userID string) {
		own, notBefore, _ := o.Issue(sl, userID)
		if err := keys.Judge(pass, sl, userID, notBefore); (err == nil) != (pass == own) {
			t.Errorf("%q for %q: got %v; the one good pass is %q", pass, userID, err, own)
		}
	})
}
