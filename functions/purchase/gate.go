package purchase

import (
	"errors"
	"fmt"
	"time"

	"flashsale/shared/admission"
	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/throttle"
)

// A Gate says which shoppers may have no new hold: those whose time by their
// admission pass has not come, and those who call too often.
type Gate struct {
	Passes *admission.Keys   // nil refuses all passes
	Limit  *throttle.Limiter // nil takes every call
	Now    func() time.Time
}

// NewGate makes a gate from the settings. A rate of zero is no limit.
func NewGate(keys config.AdmissionKeys, limits config.Limits, now func() time.Time) (*Gate, error) {
	passes, err := admission.NewKeys(keys)
	if err != nil {
		return nil, fmt.Errorf("purchase: %w", err)
	}
	g := &Gate{Passes: passes, Now: now}
	if limits.Purchases.Calls > 0 {
		g.Limit = throttle.New(limits.Purchases, now)
	}
	return g, nil
}

// bar says why a shopper may have no new hold, nil if nothing is against it. It is
// judged before Redis is asked, and answered only where Redis has nothing to say
// first: own hold, pauses and window. Every verified call counts for the limit. A
// sale without a spread looks at no pass.
//
// A pass is judged by this environment's clock, as tokens are. The window stays
// Redis' matter, so a clock that is wrong opens no sale too early.
func (g *Gate) bar(r *apigw.Request, sl *sale.Sale, userID string) *apigw.Error {
	wait, ok := g.Limit.Take(userID)
	if sl.Spread > 0 {
		if refusal := g.refuse(r, sl, userID); refusal != nil {
			return refusal
		}
	}
	if !ok {
		return &apigw.Error{Code: apigw.TooManyRequests, Message: "Too many tries. Please wait a moment.", RetryAfter: wait}
	}
	return nil
}

// refuse says why the pass is not good, nil if it is.
func (g *Gate) refuse(r *apigw.Request, sl *sale.Sale, userID string) *apigw.Error {
	pass := ""
	if values := r.Header("X-Admission-Pass"); len(values) == 1 {
		pass = values[0]
	}
	now := g.Now()
	err := g.Passes.Judge(pass, sl, userID, now)
	if err == nil {
		return nil
	}
	if errors.Is(err, admission.ErrNoKeys) {
		return apigw.Busy(retry, err)
	}
	refusal := &apigw.Error{Code: apigw.AdmissionRequired, Message: "An admission pass is needed.", Cause: err}
	if early, ok := errors.AsType[*admission.EarlyError](err); ok {
		refusal.Message = "Your time to buy has not come yet."
		refusal.Fields = map[string]any{"notBefore": early.NotBefore}
		refusal.RetryAfter = early.NotBefore.Sub(now)
	}
	return refusal
}
