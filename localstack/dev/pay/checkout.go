package pay

import (
	"html/template"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
)

const checkoutPath = "/dev/checkout/"

var checkout = template.Must(template.New("checkout").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Payment</title><link rel="stylesheet" href="/style.css">
<main><section class="hero"><form method="post">
<h1>{{.Amount}} {{.Currency}}</h1><p class="when">Development: no money moves. Order {{.Order}}</p>
<p class="when"><button class="primary">Pay</button> <button class="quiet" name="type" value="payment.failed">Let it fail</button></p>
<input type="hidden" name="back" value="{{.Back}}">
</form></section></main></html>
`))

// Checkout answers /dev/checkout/{orderId}, the page that a payment link leads to. Its button
// pays as POST /dev/pay/{orderId} does and leads back to where the shopper came from.
func (p *Provider) Checkout(w http.ResponseWriter, r *http.Request) {
	id := strings.TrimPrefix(r.URL.Path, checkoutPath)
	switch r.Method {
	case http.MethodGet:
		amount, currency, err := p.price(r.Context(), id)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "INTERNAL", err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		_ = checkout.Execute(w, map[string]string{"Amount": amount, "Currency": currency, "Order": id, "Back": localPath(r.Referer())})
	case http.MethodPost:
		back := localPath(r.PostFormValue("back"))
		query := url.Values{}
		if kind := r.PostFormValue("type"); kind != "" {
			query.Set("type", kind)
		}
		paid := r.Clone(r.Context())
		paid.URL = &url.URL{Path: "/dev/pay/" + id, RawQuery: query.Encode()}
		answer := httptest.NewRecorder()
		p.ServeHTTP(answer, paid)
		if answer.Code != http.StatusOK {
			http.Error(w, answer.Body.String(), answer.Code)
			return
		}
		http.Redirect(w, r, back, http.StatusSeeOther)
	default:
		w.Header().Set("Allow", "GET, POST")
		refuse(w, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", http.ErrNotSupported)
	}
}

// localPath is an address on this server, whatever the text says.
func localPath(text string) string {
	u, err := url.Parse(text)
	if err != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") {
		return "/"
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}
