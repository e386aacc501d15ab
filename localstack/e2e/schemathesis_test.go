package e2e_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/webhook"
)

// described is a sale with the ids of the description's examples, so that they work.
func described() saleFile {
	sale := newSale(1000)
	sale.ID, sale.Items[0].ID = 7, 1001
	return sale
}

// TestSchemathesis lets schemathesis make up calls from the description, good and bad
// ones, as two shoppers and the payment provider. It must find nothing. Its report is
// build/schemathesis.xml.
func TestSchemathesis(t *testing.T) {
	t.Parallel()
	s := open(t, openBackends(t).env(), described())
	programs := python(t, "schemathesis")
	t.Run("finds nothing", func(t *testing.T) {
		front := newFront(t, s)
		output, err := schemathesis(t, s, programs, front, description.JSON(), reportFile(t))
		if err != nil {
			t.Errorf("schemathesis: %v:\n%s", err, output)
		}
		// Nothing found means nothing if it stood before closed doors.
		for _, want := range []string{
			"GET 200 sale", "GET 404 sale", "POST 200 admission", "POST 202 purchase", "POST 400 purchase", "POST 401 purchase",
			"POST 404 purchase", "POST 409 purchase", "GET 200 orders", "GET 404 orders", "DELETE 200 orders", "DELETE 404 orders",
			"GET 200 my-order", "POST 204 payments", "POST 400 payments", "POST 401 payments",
		} {
			if front.seen[want] == 0 {
				t.Errorf("no call was answered %s; seen: %v", want, front.seen)
			}
		}
	})
	t.Run("finds a field of another name", func(t *testing.T) {
		wrong := bytes.Replace(description.JSON(), []byte(`"soldOut"`), []byte(`"isSoldOut"`), 2)
		output, err := schemathesis(t, s, programs, newFront(t, s), wrong, filepath.Join(t.TempDir(), "report.xml"), "--include-operation-id", "sale")
		if err == nil || !strings.Contains(output, "isSoldOut") {
			t.Errorf("got %v, want a finding about isSoldOut:\n%s", err, output)
		}
	})
}

// python installs the programs that localstack/deploy/python pins.
func python(t *testing.T, list string) (programs string) {
	t.Helper()
	var stderr bytes.Buffer
	command := exec.CommandContext(t.Context(), "../deploy/python.sh", list)
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("python.sh %s: %v: %s", list, err, &stderr)
	}
	return strings.TrimSpace(string(output))
}

// schemathesis runs it. An error is a finding, or that it did not run; what it said tells.
func schemathesis(t *testing.T, s *shop, programs string, front *front, document []byte, report string, options ...string) (string, error) {
	t.Helper()
	file := func(name string, content []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	type header struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	type entry struct {
		Name         string   `json:"name"`
		FixedHeaders []header `json:"fixedHeaders"`
	}
	var entries []entry
	for _, name := range []string{"u1", "u2"} {
		entries = append(entries, entry{name, []header{{"Authorization", "Bearer " + s.login(t, name).token}, {"webhook-signature", sign}}})
	}
	shoppers, err := json.Marshal(map[string]any{"auth": entries})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(programs, "schemathesis"), append([]string{ //nolint:gosec // our own
		"--config-file", absolute(t, "../openapi/schemathesis.toml"), "run", file("openapi.json", document), "--url", front.server.URL,
		"--max-examples", "100", "--no-color", "--report", "junit", "--report-junit-path", report,
	}, options...)...)
	command.Dir = t.TempDir() // where it keeps what it has learned: nothing for the next run
	command.Env = append(os.Environ(), "SHOPPERS="+file("shoppers.json", shoppers))
	output, err := command.CombinedOutput()
	return string(output), err
}

func reportFile(t *testing.T) string {
	t.Helper()
	folder := absolute(t, "../../build")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "schemathesis.xml")
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	sign              = "v1,please"                                  // stands where a signature belongs that front makes
	developmentSecret = "whsec_ZGV2ZWxvcG1lbnQtb25seS1wYXltZW50cw==" // as docs/api.md has it
)

// front stands between schemathesis and the server, signs webhooks and counts answers.
type front struct {
	server *httptest.Server
	lock   sync.Mutex
	seen   map[string]int // "METHOD STATUS address"
}

func newFront(t *testing.T, s *shop) *front {
	t.Helper()
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	scheme, err := webhook.New(config.Webhook{Signature: config.StandardWebhooks, Secrets: []config.Secret{developmentSecret}, Tolerance: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	f := &front{seen: make(map[string]int)}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.URL.RawPath, r.Out.URL.Path = r.In.URL.RawPath, r.In.URL.Path
		},
		ModifyResponse: func(r *http.Response) error { f.note(r); return nil },
	}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Webhook-Signature") == sign {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Errorf("body: %v", err)
			}
			for name, value := range scheme.Sign("msg_"+rand.Text(), time.Now(), body) {
				r.Header.Set(name, value)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(f.server.Close)
	return f
}

func (f *front) note(r *http.Response) {
	f.lock.Lock()
	defer f.lock.Unlock()
	address := "sale"
	for _, name := range []string{"purchase", "orders", "my-order", "admission", "payments"} {
		if slices.Contains(strings.Split(r.Request.URL.Path, "/"), name) {
			address = name
		}
	}
	f.seen[fmt.Sprintf("%s %d %s", r.Request.Method, r.StatusCode, address)]++
}
