package e2e_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"flashsale/localstack/servers"
)

// A saleFile is what an operator writes.
type saleFile struct {
	ID            uint32     `json:"id"`
	Name          string     `json:"name"`
	OpensAt       string     `json:"opensAt"`
	ClosesAt      string     `json:"closesAt"`
	PaymentWindow string     `json:"paymentWindow"`
	Grace         string     `json:"grace"`
	Shards        int        `json:"shards,omitempty"`
	Spread        string     `json:"spread,omitempty"`
	Items         []itemFile `json:"items"`
}

type itemFile struct {
	ID        int64  `json:"id"`
	ProductID int64  `json:"productId"`
	Name      string `json:"name"`
	Quantity  int    `json:"quantity"`
	Price     string `json:"price"`
	Currency  string `json:"currency"`
}

// newSale describes a sale that is open, with an item for each quantity and random ids.
func newSale(quantities ...int) saleFile {
	s := saleFile{
		ID: servers.SaleID(), Name: "End to end", OpensAt: "-1s", ClosesAt: "+2h", PaymentWindow: "10m", Grace: "0s",
	}
	for i, quantity := range quantities {
		s.Items = append(s.Items, itemFile{
			ID: servers.ItemID(), ProductID: int64(i + 1), Name: "Thing", Quantity: quantity, Price: "19.99", Currency: "EUR",
		})
	}
	return s
}

func (f saleFile) write(t *testing.T) (path string) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "sale.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// A report is saleadmin's.
type report struct {
	State           string       `json:"state"`
	Changing        bool         `json:"changing"`
	Items           []itemReport `json:"items"`
	Unconfirmed     int          `json:"unconfirmed"`
	ReleasesWaiting int          `json:"releasesWaiting"`
	DeadLetters     int          `json:"deadLetters"`
	WriterLag       int          `json:"writerLag"`
}

type itemReport struct {
	Sold      int            `json:"sold"`
	Stock     int            `json:"stock"`
	Orders    map[string]int `json:"orders"`
	Conserved bool           `json:"conserved"`
	Drift     int            `json:"drift"`
}

// quiet tells that nothing is under way.
func (r report) quiet() bool {
	return !r.Changing && r.Unconfirmed == 0 && r.ReleasesWaiting == 0 && r.WriterLag == 0
}

// A view is what everybody sees of a sale.
type view struct {
	State     string    `json:"state"`
	OpensAt   time.Time `json:"opensAt"`
	Admission bool      `json:"admission"`
	Items     []struct {
		SoldOut     bool   `json:"soldOut"`
		PurchaseURL string `json:"purchaseUrl"`
	} `json:"items"`
}

// invoke calls a function as `aws lambda invoke` does. A function error fails the test.
func (s *shop) invoke(t *testing.T, function string, request, into any) {
	t.Helper()
	s.post(t, "/2015-03-31/functions/"+function+"/invocations", request, into)
}

// administer runs an action that must not be refused, and returns the sale's state.
func (s *shop) administer(t *testing.T, action string, id uint32) (state string) {
	t.Helper()
	var done struct{ Error, State string }
	s.invoke(t, "saleadmin", map[string]any{"action": action, "saleId": id}, &done)
	if done.Error != "" {
		t.Fatalf("%s: refused: %s", action, done.Error)
	}
	return done.State
}

// create describes a sale and waits until it is known everywhere: environments look
// for an unknown sale once a second.
func (s *shop) create(t *testing.T, sale saleFile) {
	t.Helper()
	var done struct{ Error, Message string }
	s.invoke(t, "saleadmin", map[string]any{"action": "create", "sale": sale}, &done)
	if done.Error != "" {
		t.Fatalf("create: refused: %s: %s", done.Error, done.Message)
	}
	eventually(t, "the sale is known", func() bool {
		a, err := s.call(t.Context(), http.MethodGet, salePath(sale.ID), nil, "")
		return err == nil && a.Code == http.StatusOK
	})
}

// offer creates and loads a sale and waits until everybody can see it.
func (s *shop) offer(t *testing.T, sale saleFile) {
	t.Helper()
	s.create(t, sale)
	s.administer(t, "load", sale.ID)
	eventually(t, "the sale is loaded", func() bool { return s.sees(t, sale.ID).State != "CREATED" })
}

func (s *shop) report(t *testing.T, id uint32) (r report) {
	t.Helper()
	s.invoke(t, "saleadmin", map[string]any{"action": "report", "saleId": id}, &r)
	return r
}

// settled waits until nothing is under way and returns the report of then.
func (s *shop) settled(t *testing.T, id uint32) (r report) {
	t.Helper()
	eventually(t, "nothing is under way", func() bool {
		r = s.report(t, id)
		return r.quiet()
	})
	return r
}

// sees is the public view.
func (s *shop) sees(t *testing.T, id uint32) (v view) {
	t.Helper()
	a, err := s.call(t.Context(), http.MethodGet, salePath(id), nil, "")
	if err == nil {
		err = json.Unmarshal([]byte(a.Text), &v)
	}
	if err != nil || a.Code != http.StatusOK || len(v.Items) == 0 {
		t.Fatalf("sale %d: %s, %v", id, a, err)
	}
	return v
}

// wantItem checks an item's counts: sold, left, and orders by state, where a state
// that is not named must have none.
func wantItem(t *testing.T, r report, item, sold, left int, orders map[string]int) {
	t.Helper()
	got := r.Items[item]
	if got.Sold != sold || got.Stock != left || !got.Conserved || got.Drift != 0 || r.DeadLetters != 0 {
		t.Errorf("item %d: got %+v with %d dead letters, want %d sold, %d left, conserved, no drift, no dead letters",
			item, got, r.DeadLetters, sold, left)
	}
	for state, n := range got.Orders {
		if n != orders[state] {
			t.Errorf("item %d: got %d orders %s, want %d", item, n, state, orders[state])
		}
	}
}
