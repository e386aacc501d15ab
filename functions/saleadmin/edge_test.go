package saleadmin_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// A counter stands in for AWS' command line: it answers as CloudFormation, Secrets Manager and
// CloudFront's store do, and takes a change only of the version that it has.
type counter struct {
	t      *testing.T
	view   string // the sale's public view
	secret string

	mu      sync.Mutex
	store   map[string]string
	version int
	others  int // changes that somebody else makes before the next ones
	calls   []string
}

// TestMain is also AWS' command line: under that name this program hands its words on, a line each, and
// what it is given.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "aws" {
		os.Exit(m.Run())
	}
	given := ""
	if slices.Contains(os.Args, "--cli-input-json") {
		text, _ := io.ReadAll(os.Stdin)
		given = string(text)
	}
	answer, err := http.Post(os.Getenv("EDGE_TEST_AWS"), "", strings.NewReader(strings.Join(os.Args[1:], "\n")+"\n\n"+given))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		fmt.Fprintf(os.Stderr, "An error occurred %s", text)
		os.Exit(254)
	}
	_, _ = os.Stdout.Write(text)
	os.Exit(0)
}

func (c *counter) edge(args ...string) (string, error) {
	c.t.Helper()
	// Some python3 is a script that puts other folders before ours.
	python, err := exec.CommandContext(c.t.Context(), "python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		const hint = "left out: there is no python3 here, which edge.py needs: %v"
		if os.Getenv("REQUIRE_SERVERS") == "1" {
			c.t.Fatalf(hint, err)
		}
		c.t.Skipf(hint, err)
	}
	server := httptest.NewServer(c)
	defer server.Close()
	dir := c.t.TempDir()
	self, err := os.Executable()
	if err == nil {
		err = os.Symlink(self, filepath.Join(dir, "aws"))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	cmd := exec.CommandContext(c.t.Context(), strings.TrimSpace(string(python)), append([]string{"-IS", "edge.py"}, args...)...) //nolint:gosec // ours
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "EDGE_TEST_AWS="+server.URL+"/aws", "NO_PROXY=*", "no_proxy=*")
	text, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(text)), err
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path == "/api/flash-sales/7" && c.view != "" {
		_, _ = io.WriteString(w, c.view)
		return
	}
	if r.URL.Path != "/aws" {
		http.NotFound(w, r)
		return
	}
	text, _ := io.ReadAll(r.Body)
	head, given, _ := strings.Cut(string(text), "\n\n")
	words := strings.Split(head, "\n")
	c.calls = append(c.calls, strings.Join(words, " "))
	option := func(name string) string {
		if i := slices.Index(words, name); i >= 0 {
			return words[i+1]
		}
		return ""
	}
	answer := map[string]any{}
	switch words[0] + " " + words[1] {
	case "cloudformation describe-stacks":
		output := func(key, value string) map[string]string {
			return map[string]string{"OutputKey": key, "OutputValue": value}
		}
		outputs := []map[string]string{output("PageUrl", "http://"+r.Host), output("SecretsId", "arn:secret")}
		if option("--stack-name") == "shop" {
			outputs = append(outputs, output("AdmissionStoreArn", "arn:store"))
		}
		answer["Stacks"] = []any{map[string]any{"Outputs": outputs}}
	case "secretsmanager get-secret-value":
		answer["SecretString"] = c.secret
	case "cloudfront-keyvaluestore describe-key-value-store":
		answer["ETag"] = fmt.Sprint("v", c.version)
	case "cloudfront-keyvaluestore list-keys":
		var items []map[string]string
		for key, value := range c.store {
			items = append(items, map[string]string{"Key": key, "Value": value})
		}
		answer["Items"] = items
	case "cloudfront-keyvaluestore update-keys":
		if c.others > 0 {
			c.others--
			c.version++
		}
		var in struct {
			KvsARN, IfMatch string
			Puts            []struct{ Key, Value string }
			Deletes         []struct{ Key string }
		}
		decoder := json.NewDecoder(strings.NewReader(given))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&in); err != nil || in.KvsARN != "arn:store" || len(in.Puts)+len(in.Deletes) > 50 || len(in.Puts)+len(in.Deletes) == 0 {
			c.t.Errorf("update-keys: got %s, %v", given, err)
		}
		if in.IfMatch != fmt.Sprint("v", c.version) {
			w.WriteHeader(http.StatusConflict)
			_, _ = io.WriteString(w, "(ConflictException) when calling the UpdateKeys operation: Resource is not in expected state.")
			return
		}
		c.version++
		for _, put := range in.Puts {
			c.store[put.Key] = put.Value
		}
		for _, gone := range in.Deletes {
			delete(c.store, gone.Key)
		}
	default:
		c.t.Errorf("aws %s", c.calls[len(c.calls)-1])
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func TestEdge(t *testing.T) {
	t.Parallel()
	const key = "k2:0123456789abcdef0123456789abcdef"
	c := &counter{t: t, store: map[string]string{"item:9": "8"}, secret: `{"ORDER_ID_SECRET":"x","ADMISSION_KEYS":"` + key + `,k1:fedcba9876543210"}`}
	items := make([]string, 100)
	for i := range items {
		items[i] = fmt.Sprintf(`{"itemId":%d}`, 1000+i)
	}
	view := `{"saleId":7,"admission":true,"items":[` + strings.Join(items, ",") + `]}`
	says := func(want string, args ...string) {
		t.Helper()
		if got, err := c.edge(args...); err != nil || got != want {
			t.Errorf("%v: got %q, %v, want %q", args, got, err, want)
		}
	}
	refuses := func(want string, args ...string) {
		t.Helper()
		before := c.version
		got, err := c.edge(args...)
		if err == nil || !strings.Contains(got, want) || c.version != before || strings.Contains(got, "Traceback") {
			t.Errorf("%v: got %q, %v, want a refusal with %q", args, got, err, want)
		}
	}
	refuses("is the sale created", "shop", "put", "7")
	c.view = view
	refuses("the store has no keys", "shop", "put", "7")
	says("2 keys are at the edge", "shop", "keys")
	if c.store["keys"] != key+",k1:fedcba9876543210" {
		t.Errorf("keys: got %q", c.store["keys"])
	}
	c.others = 2 // somebody else is at it too
	for range 2 {
		says("100 items are at the edge", "shop", "put", "7")
		if len(c.store) != 102 || c.store["item:1000"] != "7" || c.store["item:1099"] != "7" || c.store["item:9"] != "8" {
			t.Errorf("store: got %d entries, %v", len(c.store), c.store)
		}
	}
	if got, err := c.edge("shop", "show"); err != nil || !strings.HasPrefix(got, "keys k2,k1\nitem:1000 7\n") || strings.Contains(got, "0123456789abcdef") {
		t.Errorf("show: got %q, %v, want the ids of the keys and no key", got, err)
	}
	says("100 items are no more at the edge", "shop", "delete", "7")
	says("0 items are no more at the edge", "shop", "delete", "7")
	if len(c.store) != 2 || c.store["item:9"] != "8" {
		t.Errorf("after delete: got %v", c.store)
	}
	c.view = strings.Replace(view, `"admission":true,`, "", 1)
	refuses("has no spread", "shop", "put", "7")
	refuses("no store at the edge", "plain", "show")
	c.others = 100
	c.view = view
	got, err := c.edge("shop", "put", "7")
	if err == nil || !strings.Contains(got, "ConflictException") {
		t.Errorf("with a store that never rests: got %q, %v", got, err)
	}
	c.others = 0
	c.secret = `{"ORDER_ID_SECRET":"x"}`
	refuses("no ADMISSION_KEYS", "shop", "keys")
	for _, args := range [][]string{{}, {"shop"}, {"shop", "put"}, {"shop", "put", "07"}, {"shop", "put", "x"}, {"shop", "drop", "7"}} {
		refuses("edge.py STACK WHAT", args...)
	}
	for _, call := range c.calls {
		if strings.Contains(call, "0123456789abcdef") {
			t.Errorf("a key in the words of a call: %s", call)
		}
	}
}
