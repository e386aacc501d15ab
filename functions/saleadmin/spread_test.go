package saleadmin_test

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/stock"
)

// TestSpread: a sale whose shoppers need passes exists only where passes are given out.
func TestSpread(t *testing.T) {
	t.Parallel()
	o := open(t)
	sl, plain := o.Sale(5), o.Sale(5)
	spread := strings.Replace(file(sl, "-1m", "+1h", 5), `"grace"`, `"spread":"30s","grace"`, 1)
	o.h.Admits = false
	wantMessage(t, o.says(t, `{"action":"create","sale":%s}`, spread), "BAD_REQUEST", "ADMISSION_KEYS")
	want(t, o.says(t, `{"action":"create","sale":%s}`, file(plain, "+1h", "+2h", 5)), `{"saleId":%d,"state":"CREATED","created":true}`, plain.ID)
	later := strings.Replace(file(plain, "+1h", "+2h", 5), `"grace"`, `"spread":"30s","grace"`, 1)
	wantMessage(t, o.says(t, `{"action":"update","saleId":%d,"sale":%s}`, plain.ID, later), "BAD_REQUEST", "ADMISSION_KEYS")

	o.h.Admits = true
	want(t, o.says(t, `{"action":"create","sale":%s}`, spread), `{"saleId":%d,"state":"CREATED","created":true}`, sl.ID)
	want(t, o.says(t, `{"action":"update","saleId":%d,"sale":%s}`, plain.ID, later), `{"saleId":%d,"state":"CREATED","changed":["spread: 0s to 30s"]}`, plain.ID)
	// The keys were taken away since.
	o.h.Admits = false
	wantMessage(t, o.says(t, `{"action":"load","saleId":%d}`, sl.ID), "BAD_REQUEST", "ADMISSION_KEYS")
	o.h.Admits = true
	want(t, o.says(t, `{"action":"load","saleId":%d}`, sl.ID), `{"saleId":%d,"state":"OPEN","loaded":true}`, sl.ID)
	l, ok, err := stock.NewCatalog(o.Stock, time.Now).Sale(t.Context(), sl.ID)
	if err != nil || !ok || l.Spread != 30*time.Second {
		t.Errorf("catalog: got a spread of %s, %v, %v, want 30s", l.Spread, ok, err)
	}
}
