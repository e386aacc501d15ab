package saleadmin

import (
	"context"
	"math"
	"strconv"
	"time"
)

// passTime is the time before the opening in which pages fetch their passes, each at
// a moment of its own (web/admission.js).
const passTime = 9 * time.Minute

// lookAtStage compares what the API's stage lets through beside purchases with what
// the pages will ask. AWS need not be asked: it is what the stack was told.
func (h *Handler) lookAtStage(_ context.Context, d demand) []check {
	rate := func(name string, have, need int, parameter string) check {
		if have == 0 {
			return unknown(name, strconv.Itoa(need), "saleadmin is not told "+parameter)
		}
		return judge(name, have >= need, strconv.Itoa(have), strconv.Itoa(need), parameter+" of the stack, at most the account's rate")
	}
	cfg := h.Estate.Config
	// Each winner's page looks at its order once a second until it may be paid.
	checks := []check{rate("other calls", cfg.OtherRate, d.units, "OtherRate")}
	if spread := d.sale.Spread; spread > 0 {
		// A lottery's shoppers press once, evenly over the spread: that is who is there.
		shoppers := float64(d.peak) * spread.Seconds()
		checks = append(checks, rate("admission passes", cfg.AdmissionRate, int(math.Ceil(shoppers/passTime.Seconds())), "AdmissionRate"))
	}
	return checks
}
