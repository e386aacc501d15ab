package apigw

import (
	"net/http"
	"slices"
)

func (e Edge) isPreflight(r *Request) bool {
	return len(e.Origins) > 0 && r.Method == http.MethodOptions &&
		r.Header("Origin") != nil && r.Header("Access-Control-Request-Method") != nil
}

// crossOrigin returns the CORS headers of the answer to r.
func (e Edge) crossOrigin(r *Request) []pair {
	if len(e.Origins) == 0 {
		return nil
	}
	origin := r.Header("Origin")
	if len(origin) != 1 {
		return e.allow("", false)
	}
	return e.allow(origin[0], e.isPreflight(r))
}

// allow returns the CORS headers for a page's origin, none where CORS is off.
func (e Edge) allow(origin string, preflight bool) []pair {
	if len(e.Origins) == 0 {
		return nil
	}
	// Caches must know that the answer depends on it, also where it is not allowed.
	headers := []pair{{"Vary", "Origin"}}
	if origin == "" || !slices.Contains(e.Origins, origin) {
		return headers
	}
	headers = append(headers, pair{"Access-Control-Allow-Origin", origin})
	if !preflight {
		return append(headers, pair{"Access-Control-Expose-Headers", "Location, Retry-After"})
	}
	return append(headers,
		pair{"Access-Control-Allow-Methods", "GET, POST, DELETE"},
		pair{"Access-Control-Allow-Headers", "Authorization, Content-Type, Idempotency-Key, X-Admission-Pass"},
		pair{"Access-Control-Max-Age", "600"})
}
