package emulator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/localstack/deploy/emulator"
	"flashsale/localstack/deploy/stage"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/servers"
	"flashsale/migrations"
)

const (
	root     = "../../.."
	patience = time.Minute
	turn     = 4 * time.Minute // of another run
	audience = "flash-sale"
)

// A shop is a stage with a schema, an identity provider and the functions' programs.
type shop struct {
	own    stage.Stack
	secret stage.Secret
	env    []string
	logins *login.Provider
}

// furnished is made once. Another run of these tests on the same servers waits for this one.
var furnished = sync.OnceValues(func() (*shop, error) {
	own := stage.Stack{Name: "emulator", RedisDatabase: 12}
	ctx, cancel := context.WithTimeout(context.Background(), turn)
	defer cancel()
	if _, err := own.Hold(ctx); err != nil { // until the process ends
		return nil, err
	}
	secret, err := stage.Empty(context.Background(), own)
	if err != nil {
		return nil, err
	}
	if _, err := migrations.Up(context.Background(), secret.DatabaseURL); err != nil {
		return nil, err
	}
	logins, err := login.New("http://127.0.0.1/dev", audience, time.Now)
	if err != nil {
		return nil, err
	}
	keys, err := logins.JWKS()
	if err != nil {
		return nil, err
	}
	return &shop{own, secret, secret.Environment(own, logins.Issuer(), audience, string(keys)), logins}, nil
})

func furnish(t *testing.T) *shop {
	t.Helper()
	servers.RedisURL(t)
	servers.KafkaBrokers(t)
	s, err := furnished()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rie is the emulator inside the SAM command line's package.
var rie = sync.OnceValues(func() (string, error) {
	command := exec.Command("../python.sh", "sam") //nolint:noctx // bounded by the test
	command.Stderr = os.Stderr
	bin, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("python.sh: %w", err)
	}
	machine := map[string]string{"amd64": "x86_64", "arm64": "arm64"}[runtime.GOARCH]
	found, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(bin)),
		"../lib/python*/site-packages/samcli/local/rapid/aws-lambda-rie-"+machine))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("aws-lambda-rie: found %v, %w", found, err)
	}
	return found[0], nil
})

// function builds a function's program as it is deployed.
func function(t *testing.T, s *shop, name string) emulator.Function {
	t.Helper()
	path, err := rie()
	if err != nil {
		t.Fatal(err)
	}
	target := fmt.Sprintf("build/%s/%s/bootstrap", runtime.GOARCH, name)
	if err := os.MkdirAll(root+"/build", 0o755); err != nil {
		t.Fatal(err)
	}
	// localstack.sh may be making the same programs.
	if out, err := exec.CommandContext(t.Context(), "flock", root+"/build/lock", "make", "-s", "-C", root, target).CombinedOutput(); err != nil {
		t.Fatalf("make %s: %v: %s", target, err, out)
	}
	program, err := filepath.Abs(filepath.Join(root, target))
	if err != nil {
		t.Fatal(err)
	}
	return emulator.Function{Emulator: path, Program: program, Env: s.env}
}

func start(t *testing.T, f emulator.Function) *emulator.Environment {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	e, err := emulator.Start(ctx, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(e.Output())
		}
		e.Stop()
	})
	return e
}

func invoke(t *testing.T, e *emulator.Environment, event string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	answer, err := e.Invoke(ctx, []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// sell creates and loads an open sale with one item, and returns the item's id.
func sell(t *testing.T, s *shop, quantity int) (saleID uint32, itemID int64) {
	t.Helper()
	saleID, itemID = servers.SaleID(), servers.ItemID()
	admin := start(t, function(t, s, "saleadmin"))
	sale := fmt.Sprintf(`{"id":%d,"name":"test","opensAt":%q,"closesAt":"+1h","paymentWindow":"10m","grace":"0s","shards":1,"spread":"0s",
		"items":[{"id":%d,"productId":5,"name":"thing","quantity":%d,"price":"1.00","currency":"EUR"}]}`,
		saleID, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339), itemID, quantity)
	for _, request := range []string{`{"action":"create","sale":` + sale + `}`, fmt.Sprintf(`{"action":"load","saleId":%d}`, saleID)} {
		if got := invoke(t, admin, request); !strings.Contains(got, `"state"`) {
			t.Fatalf("saleadmin: got %s for %s", got, request)
		}
	}
	return saleID, itemID
}

// purchase is API Gateway's event of one shopper's purchase.
func purchase(t *testing.T, s *shop, itemID int64, user string) string {
	t.Helper()
	return request(t, http.MethodPost, fmt.Sprintf("/api/flash-sales/items/%d/purchase", itemID), "/api/flash-sales/items/{itemId}/purchase",
		map[string]string{"itemId": fmt.Sprint(itemID)}, map[string]string{"Authorization": "Bearer " + token(t, s, user)}, "")
}

// request is API Gateway's event of any call.
func request(t *testing.T, method, path, resource string, parameters, headers map[string]string, body string) string {
	t.Helper()
	event, err := json.Marshal(map[string]any{
		"resource": resource, "path": path, "httpMethod": method, "headers": headers, "pathParameters": parameters, "body": body,
		"requestContext": map[string]any{"requestId": "request", "identity": map[string]string{"sourceIp": "203.0.113.7"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(event)
}
