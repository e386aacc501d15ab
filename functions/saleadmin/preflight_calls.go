package saleadmin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"flashsale/shared/sigv4"
)

// An account is AWS as the function's role sees it.
type account struct {
	*sigv4.Signer
	endpoint func(service string) string
	stack    string
}

// account fails where there is none: on a machine of one's own.
func (h *Handler) account() (account, error) {
	cfg := h.Estate.Config
	stack, deployed := strings.CutSuffix(cfg.Function, "-saleadmin")
	switch {
	case !cfg.AWS.Known():
		return account{}, errors.New("there are no AWS credentials here")
	case !deployed:
		return account{}, fmt.Errorf("the function's name %q does not end in -saleadmin, so its stack is not known", cfg.Function)
	}
	return account{cfg.AWS.Signer(h.Now), cfg.AWS.EndpointOf, stack}, nil
}

// errNoValue is an answer without what was asked for: no reason to believe in 0.
var errNoValue = errors.New("AWS' answer does not have the value")

func (a account) lambda(ctx context.Context, path string, out any) error {
	return allowed(a.Get(ctx, a.endpoint("lambda"), "lambda", path, out))
}

// allowed says in our words that a role lacks a right. Lambda says it by 403, Service
// Quotas by a code alone.
func allowed(err error) error {
	refused, ok := errors.AsType[sigv4.RefusedError](err)
	if ok && (refused.Code == "AccessDeniedException" || refused.Code == "" && refused.Status == http.StatusForbidden) {
		return fmt.Errorf("saleadmin's role may not ask: %w", err)
	}
	return err
}

// list reads a list that comes in pages.
func list[T any](ctx context.Context, a account, path string, query url.Values, name string) ([]T, error) {
	var all []T
	for {
		var page map[string]json.RawMessage
		if err := a.lambda(ctx, path+"?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		var part []T
		var next string
		for field, into := range map[string]any{name: &part, "NextMarker": &next} {
			if text, ok := page[field]; ok {
				if err := json.Unmarshal(text, into); err != nil {
					return nil, fmt.Errorf("%s: %w", field, err)
				}
			}
		}
		if all = append(all, part...); next == "" {
			return all, nil
		}
		query.Set("Marker", next)
	}
}
