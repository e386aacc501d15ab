package saleadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flashsale/shared/config"
	"flashsale/shared/sale"
	"flashsale/shared/sigv4"
)

const (
	warmTime    = 30 * time.Second // for all calls of one action
	autoScaling = "application-autoscaling"

	// warmPrefix begins the names of scheduled actions. What has it is ours to delete.
	warmPrefix = "flash-sale-"
)

// A Warmth keeps environments of purchase ready around each sale, by the
// provisioned concurrency of an alias. All sales are looked at each time: they may
// overlap, and what was scheduled for one that moved must go.
type Warmth struct {
	cfg      config.Warm
	role     *sigv4.Signer
	endpoint string
}

// NewWarmth makes one. It is nil, and nothing is warmed, where no target is named.
func NewWarmth(cfg config.Warm, account config.AWS) *Warmth {
	if cfg.Target == "" {
		return nil
	}
	return &Warmth{cfg, account.Signer(time.Now), account.EndpointOf(autoScaling)}
}

// Schedule says how many environments are wanted now, and when that changes. It
// may be repeated; if it fails halfway, repeating it is the repair.
func (w *Warmth) Schedule(ctx context.Context, sales []sale.Listing, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, warmTime)
	defer cancel()
	spans := w.spans(sales, now)
	if err := w.forget(ctx, spans); err != nil {
		return err
	}
	wanted := 0
	for _, span := range spans {
		// As with an end, what is nearly there is scheduled no more: it is wanted now.
		if span.from.After(now.Add(time.Minute)) {
			if err := w.at(ctx, "warm", span.from, w.cfg.Environments); err != nil {
				return err
			}
		} else {
			wanted = w.cfg.Environments
		}
		if err := w.at(ctx, "cool", span.to, 0); err != nil {
			return err
		}
	}
	return w.call(ctx, "RegisterScalableTarget", wish{"MinCapacity": wanted, "MaxCapacity": wanted}, &struct{}{})
}

// A span is a time in which environments are wanted.
type span struct{ from, to time.Time }

// spans are in order and do not touch: where sales overlap, one must not cool the
// other's environments.
func (w *Warmth) spans(sales []sale.Listing, now time.Time) (merged []span) {
	var all []span
	for _, l := range sales {
		s := span{l.OpensAt.Add(-w.cfg.Before), l.OpensAt.Add(w.cfg.After)}
		if l.ClosesAt.Before(s.to) {
			s.to = l.ClosesAt
		}
		// Scheduled for a moment that passes meanwhile, an action would be refused.
		if s.to.After(now.Add(time.Minute)) {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from.UnixNano(), b.from.UnixNano()) })
	for _, s := range all {
		if last := len(merged) - 1; last >= 0 && !s.from.After(merged[last].to) {
			if s.to.After(merged[last].to) {
				merged[last].to = s.to
			}
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// at schedules one change. Its name tells its time, so that the same change is the
// same action.
func (w *Warmth) at(ctx context.Context, what string, when time.Time, environments int) error {
	return w.call(ctx, "PutScheduledAction", wish{
		"ScheduledActionName":  actionName(what, when),
		"Schedule":             "at(" + when.UTC().Format("2006-01-02T15:04:05") + ")",
		"ScalableTargetAction": wish{"MinCapacity": environments, "MaxCapacity": environments},
	}, &struct{}{})
}

func actionName(what string, when time.Time) string {
	return warmPrefix + what + "-" + when.UTC().Format("20060102T150405Z")
}

// forget deletes what was scheduled for sales that have moved or gone.
func (w *Warmth) forget(ctx context.Context, spans []span) error {
	var wanted []string
	for _, s := range spans {
		wanted = append(wanted, actionName("warm", s.from), actionName("cool", s.to))
	}
	for next := ""; ; {
		var page struct {
			ScheduledActions []struct{ ScheduledActionName string }
			NextToken        string
		}
		asked := wish{}
		if next != "" {
			asked["NextToken"] = next
		}
		if err := w.call(ctx, "DescribeScheduledActions", asked, &page); err != nil {
			return err
		}
		for _, action := range page.ScheduledActions {
			name := action.ScheduledActionName
			if !strings.HasPrefix(name, warmPrefix) || slices.Contains(wanted, name) {
				continue
			}
			err := w.call(ctx, "DeleteScheduledAction", wish{"ScheduledActionName": name}, &struct{}{})
			// It has just run, or another operator was faster.
			if refused, ok := errors.AsType[sigv4.RefusedError](err); ok && refused.Code == "ObjectNotFoundException" {
				continue
			}
			if err != nil {
				return err
			}
		}
		if next = page.NextToken; next == "" {
			return nil
		}
	}
}

// A wish is the body of a call.
type wish map[string]any

// call makes one call of Application Auto Scaling about the target. All calls may
// be made twice.
func (w *Warmth) call(ctx context.Context, name string, in wish, out any) error {
	in["ServiceNamespace"], in["ScalableDimension"] = "lambda", "lambda:function:ProvisionedConcurrency"
	in["ResourceId"] = w.cfg.Target
	if err := w.role.Call(ctx, w.endpoint, autoScaling, "AnyScaleFrontendService."+name, in, out); err != nil {
		return fmt.Errorf("saleadmin: warm: %w", err)
	}
	return nil
}
