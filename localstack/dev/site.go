package main

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"flashsale/localstack/dev/gateway"
	"flashsale/localstack/dev/lambda"
	"flashsale/localstack/dev/login"
	"flashsale/web"
)

// routes is the API, as the template deploys it. Fixed segments come first.
var routes = []gateway.Route{
	{Method: "POST", Resource: "/api/flash-sales/items/{itemId}/purchase", Function: "purchase", Timeout: 3 * time.Second},
	{Method: "GET", Resource: "/api/flash-sales/orders/{orderId}", Function: "orderstatus"},
	{Method: "DELETE", Resource: "/api/flash-sales/orders/{orderId}", Function: "orderstatus"},
	{Method: "GET", Resource: "/api/flash-sales/{saleId}/my-order", Function: "orderstatus"},
	{Method: "POST", Resource: "/api/flash-sales/payments", Function: "payment"},
	{Method: "GET", Resource: "/api/flash-sales/{saleId}", Function: "saleinfo"},
}

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
func newHandler(saleID int64, functions map[string]lambda.Invoke, provider *login.Provider, payments http.Handler, log *slog.Logger) http.Handler {
	api := gateway.New(routes, functions, log)
	invocations := lambda.Handler(functions, log)
	identity := provider.Handler()
	page := http.FileServerFS(web.Files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		switch {
		case path == "/healthz" && reads:
			writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
		case path == "/config.json" && reads:
			writeJSON(w, http.StatusOK, map[string]any{"saleId": saleID, "api": "/api/flash-sales", "login": "/dev/login"})
		case strings.HasPrefix(path, "/dev/pay/"):
			payments.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/dev/"):
			identity.ServeHTTP(w, r)
		case strings.HasPrefix(path, "/2015-03-31/"):
			invocations.ServeHTTP(w, r)
		case reads && isPage(path):
			h := w.Header()
			h.Set("Content-Security-Policy", web.ContentSecurityPolicy)
			h.Set("X-Content-Type-Options", "nosniff")
			h.Set("Cache-Control", "no-cache")
			page.ServeHTTP(w, r)
		default:
			api.ServeHTTP(w, r)
		}
	})
}

func isPage(path string) bool {
	if path == "/" {
		return true
	}
	_, err := fs.Stat(web.Files, strings.TrimPrefix(path, "/"))
	return err == nil && path != "/."
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the caller may be gone
}
