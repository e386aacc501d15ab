package edge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
)

// An edge is the function in an engine of its own.
type edge struct {
	vm    *goja.Runtime
	store map[string]string
	now   time.Time
}

// cloudFront is the runtime's own part, as far as the function needs it.
const cloudFront = `
const cf = { kvs: () => ({ get: async (key) => { const value = stored(key); if (value === undefined) throw new Error('key not found'); return value; } }) };
const require = (name) => ({ createHmac: (hash, key) => { let text = ''; return {
  update(more) { text += more; return this; },
  digest(encoding) { return hmac(name, hash, key, text, encoding); },
}; } });
const Buffer = { from: (text, encoding) => ({ toString: () => decoded(text, encoding) }) };
Date.now = () => clock();
`

func open(t *testing.T, store map[string]string) *edge {
	t.Helper()
	source, err := os.ReadFile("admission.js")
	if err != nil {
		t.Fatal(err)
	}
	// The engine knows no modules; what would be imported is there.
	const imported = "import cf from 'cloudfront';\n"
	if strings.Count(string(source), imported) != 1 {
		t.Fatalf("the function does not import its store by %q", imported)
	}
	e := &edge{vm: goja.New(), store: store}
	for name, f := range map[string]any{
		"stored": func(key string) goja.Value {
			if value, ok := store[key]; ok {
				return e.vm.ToValue(value)
			}
			return goja.Undefined()
		},
		"hmac": func(module, hash, key, text, encoding string) string {
			if module != "crypto" || hash != "sha256" || encoding != "base64url" {
				panic(e.vm.NewTypeError("not provided: %s %s %s", module, hash, encoding))
			}
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte(text))
			return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
		},
		"decoded": func(text, encoding string) string {
			bytes, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(text, "="))
			if err != nil || encoding != "base64url" {
				panic(e.vm.NewTypeError("not %s: %s", encoding, text))
			}
			return string(bytes)
		},
		"clock": func() int64 { return e.now.UnixMilli() },
	} {
		if err := e.vm.Set(name, f); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := e.vm.RunString(cloudFront + strings.Replace(string(source), imported, "", 1)); err != nil {
		t.Fatal(err)
	}
	return e
}
