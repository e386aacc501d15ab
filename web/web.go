// Package web holds the sale's page: static files that a CDN serves when deployed.
//
// It promises a page without inline code, so that [ContentSecurityPolicy] can
// forbid all of it. The page learns everything about its surroundings from
// config.json, which whoever serves it adds:
//
//	{"saleId": 7, "api": "/api/flash-sales", "login": "/dev/login"}
package web

import "embed"

// Files are the page: index.html and what it loads.
//
//go:embed index.html app.js style.css
var Files embed.FS

// ContentSecurityPolicy belongs on every answer that carries the page.
const ContentSecurityPolicy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
