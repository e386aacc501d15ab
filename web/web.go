// Package web holds the sale's page: static files that a CDN serves when deployed.
//
// It promises a page without inline code or style, so that [Policy] can forbid all
// of it, and without a word about its surroundings: those it reads from config.json,
// which whoever serves it adds. docs/page.md lists the fields.
package web

import (
	"embed"
	"strings"
)

// Files are the page: index.html and what it loads.
//
//go:embed index.html *.js style.css art
var Files embed.FS

// Policy is the Content-Security-Policy that belongs on every answer that carries the
// page. The page talks to its own origin; connect names others, such as those of the
// API and of the identity provider's token endpoint: "https://api.example.com".
func Policy(connect ...string) string {
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'",
		"connect-src " + strings.Join(append([]string{"'self'"}, connect...), " "),
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; ")
}
