package main

import (
	"embed"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/login"
	"flashsale/localstack/dev/operator"
	"flashsale/localstack/dev/pay"
	"flashsale/localstack/dev/shop"
	"flashsale/shared/sale"
	"flashsale/web"
)

// A site answers 503 until it is opened. So the port is taken, and checked, first.
type site struct {
	handler atomic.Pointer[http.Handler]
}

func (s *site) open(h http.Handler) { s.handler.Store(&h) }

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := s.handler.Load(); h != nil {
		(*h).ServeHTTP(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	writeJSON(w, http.StatusServiceUnavailable, map[string]string{"error": "TRY_AGAIN", "message": "The server is starting."})
}

// newHandler leads each address to its part. It is no ServeMux, because that one
// rewrites odd paths, which must reach the gateway as they came.
func newHandler(saleID int64, file []byte, functions map[string]lambda.Invoke, purchases func() map[string]int64, provider *login.Provider, payments *pay.Provider, log *slog.Logger) http.Handler {
	api := gateway.New(shop.Routes, functions, log)
	invocations := lambda.Handler(functions, log)
	identity := provider.Handler()
	page := http.FileServerFS(web.Files)
	operators := operator.New(purchases)
	config := pageConfig(saleID, file)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case path == "/healthz" && reads:
			writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		case path == "/config.json" && reads:
			writeJSON(w, http.StatusOK, config)
		case strings.HasPrefix(path, "/dev/pay/"):
			payments.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/dev/checkout/"):
			payments.Checkout(w, r)
		case strings.HasPrefix(path, "/dev/art/") && reads:
			http.StripPrefix("/dev", http.FileServerFS(art)).ServeHTTP(w, r)
		case strings.HasPrefix(path+"/", operator.Prefix):
			operators.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/dev/"):
			identity.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/2015-03-31/"):
			invocations.ServeHTTP(w, r)
		case reads && isPage(path):
			h := w.Header()
			h.Set("Content-Security-Policy", web.Policy())
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Cache-Control", "no-cache")
			page.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

// art shows the demo's items; a shop has pictures of its own.
//
//go:embed art/*.svg
var art embed.FS

// pageConfig is the page's config.json: docs/page.md has its fields.
func pageConfig(saleID int64, file []byte) map[string]any {
	return map[string]any{
		"saleId": saleID, "api": "/api/flash-sales",
		"identity": map[string]string{"authorize": "/dev/authorize", "token": "/dev/token", "clientId": audience},
		"payment":  "/dev/checkout/{orderId}",
		"pictures": pictures(file),
	}
}

// pictures draws what the demo sells; anything else is a parcel.
func pictures(file []byte) map[string]string {
	drawn := map[string]string{"Wireless headphones": "dev/art/headphones.svg", "Game console": "dev/art/console.svg"}
	found := make(map[string]string)
	parsed, err := sale.ParseFile(file, time.Now())
	if err != nil {
		return found
	}
	for _, item := range parsed.Items {
		if picture, ok := drawn[item.Name]; ok {
			found[strconv.FormatInt(int64(item.ID), 10)] = picture
		}
	}
	return found
}

func isPage(path string) bool {
	if path == "/" {
		return true
	}
	info, err := fs.Stat(web.Files, strings.TrimPrefix(path, "/"))
	return err == nil && !info.IsDir()
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
