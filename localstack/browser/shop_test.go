package browser_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"testing"
	"time"

	"flashsale/localstack/servers"
)

// A saleFile is a sale as an operator writes it.
type saleFile struct {
	ID       uint32     `json:"id"`
	Name     string     `json:"name"`
	OpensAt  string     `json:"opensAt"`
	ClosesAt string     `json:"closesAt"`
	Window   string     `json:"paymentWindow"`
	Grace    string     `json:"grace"`
	Shards   int        `json:"shards,omitempty"`
	Items    []itemFile `json:"items"`
}

type itemFile struct {
	ID       int64  `json:"id"`
	Product  int    `json:"productId"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    string `json:"price"`
	Currency string `json:"currency"`
}

// newSale opens in the given time; a negative one is open. It has one item per quantity, with
// random ids that JavaScript holds exactly.
func newSale(opens time.Duration, quantities ...int) saleFile {
	s := saleFile{
		ID: servers.SaleID(), Name: "Winter lights", Window: "10m", Grace: "1m",
		OpensAt: fmt.Sprintf("%+dms", opens.Milliseconds()), ClosesAt: "+2h",
	}
	names := []string{"Wireless headphones", "Game console"}
	prices := []string{"19.99", "299.00"}
	for i, quantity := range quantities {
		s.Items = append(s.Items, itemFile{servers.ItemID() >> 10, i + 1, names[i], quantity, prices[i], "EUR"})
	}
	return s
}

func (s saleFile) write() (string, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(folder, "sale-*.json")
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	_, err = file.Write(text)
	return file.Name(), err
}

// offer creates and loads a sale at a running server.
func (s *shop) offer(t *testing.T, sale saleFile) saleFile {
	t.Helper()
	s.invoke(t, "saleadmin", map[string]any{"action": "create", "sale": sale})
	s.administer(t, "load", sale)
	return sale
}

func (s *shop) administer(t *testing.T, action string, sale saleFile) {
	t.Helper()
	s.invoke(t, "saleadmin", map[string]any{"action": action, "saleId": sale.ID})
}

// invoke calls a function as an operator does.
func (s *shop) invoke(t *testing.T, function string, event any) {
	t.Helper()
	body, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}
	status, answer := s.call(t, http.MethodPost, "/2015-03-31/functions/"+function+"/invocations", "", body)
	if status != http.StatusOK || answer["error"] != nil || answer["errorMessage"] != nil {
		t.Fatalf("%s %s: got %d %v", function, body, status, answer)
	}
}

// call makes a JSON request past the page.
func (s *shop) call(t *testing.T, method, path, token string, body []byte) (int, map[string]any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	var answer map[string]any
	_ = json.Unmarshal(text, &answer) // not every answer is JSON
	return response.StatusCode, answer
}

func (s *shop) token(t *testing.T, user string) string {
	t.Helper()
	_, answer := s.call(t, http.MethodPost, "/dev/login", "", fmt.Appendf(nil, `{"user":%q}`, user))
	token, ok := answer["token"].(string)
	if !ok {
		t.Fatalf("login: got %v", answer)
	}
	return token
}

// sold is how many orders the rows have in a sale, by status.
func (s *shop) sold(t *testing.T, sale saleFile) map[string]any {
	t.Helper()
	body, err := json.Marshal(map[string]any{"action": "report", "saleId": sale.ID})
	if err != nil {
		t.Fatal(err)
	}
	_, answer := s.call(t, http.MethodPost, "/2015-03-31/functions/saleadmin/invocations", "", body)
	items, _ := answer["items"].([]any)
	if len(items) == 0 {
		t.Fatalf("report: got %v", answer)
	}
	item, _ := items[0].(map[string]any)
	orders, _ := item["orders"].(map[string]any)
	return orders
}

// eventually asks until the answer is yes.
func eventually(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ask(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("in vain: %s", what)
		}
	}
}
