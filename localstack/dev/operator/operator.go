// Package operator is the operator's view of the development server: a page that
// shows what saleadmin's report says, once a second, and acts through saleadmin.
//
// It promises no figure of its own but the answers of purchase since the server's
// start, and no inline code or style, so that the shop page's policy is its own.
package operator

import (
	"embed"
	"encoding/json"
	"io/fs"
	"net/http"

	"flashsale/web"
)

// files are the page: index.html and what it loads. It takes api.js from the
// shop's page.
//
//go:embed view
var files embed.FS

// Prefix is where the page is.
const Prefix = "/dev/operator/"

// New serves the page and, under answers, how often purchase has given each answer.
// Everything else the page asks of Lambda's Invoke call.
func New(purchases func() map[string]int64) http.Handler {
	view, err := fs.Sub(files, "view")
	if err != nil {
		panic(err) // the folder is embedded
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+Prefix+"answers", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(purchases()) // the caller may be gone
	})
	page := http.StripPrefix(Prefix, http.FileServerFS(view))
	mux.HandleFunc("GET "+Prefix, func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", web.Policy())
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Cache-Control", "no-cache")
		page.ServeHTTP(w, r)
	})
	return mux
}
