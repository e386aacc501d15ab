// Package purchase answers the shopper who presses "Buy".
//
// It promises that a 202 is given only for an order whose record Kafka has
// acknowledged, that a refusal changes nothing, and that whatever times out is
// treated as unknown: the hold is released unless a writer has claimed it.
package purchase

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"flashsale/shared/apigw"
	"flashsale/shared/config"
	"flashsale/shared/identity"
	"flashsale/shared/sale"
	"flashsale/shared/stock"
	"flashsale/shared/tracing"
)

// One budget for the whole purchase. The release must still fit in when the
// publish has failed, so its share is kept back.
const (
	budget       = 2 * time.Second
	releaseShare = 400 * time.Millisecond
	reserveShare = 800 * time.Millisecond
)

// retry is when a shopper should ask again after a 503.
const retry = time.Second

// A Log takes the record of a winning purchase. Nil means that all replicas
// have it; any error means that it may or may not arrive.
type Log interface {
	Publish(ctx context.Context, p sale.Placed) error
	Warm(ctx context.Context) error
}

// Config is what the function takes from its environment.
type Config struct {
	config.Redis
	config.Kafka
	config.Identity
	config.OrderIDs
	config.AdmissionKeys
	config.Limits
	config.HTTP
	config.Log
	config.Tracing
}

// A Handler sells. It is safe for concurrent use.
type Handler struct {
	Catalog  *stock.Catalog
	Stock    *stock.Store
	Latch    *stock.Latch
	Log      Log
	Shoppers *identity.Verifier
	Mint     *sale.Mint
	Gate     *Gate
	Edge     apigw.Edge
	Now      func() time.Time // as Catalog and Latch have it
	Tracer   *tracing.Tracer  // of orders; nil traces none

	fixed atomic.Pointer[answers] // made by the first refusal
}

// Warm opens the connections that the first shopper would have to wait for:
// before a sale, brokers and Redis take few new ones a second. It is called once
// per environment; what fails is tried again by the first purchase.
func (h *Handler) Warm(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	_, _, catalogErr := h.Catalog.ByItem(ctx, 1)
	if err := errors.Join(catalogErr, h.Stock.Warm(ctx), h.Shoppers.Warm(ctx), h.Log.Warm(ctx)); err != nil {
		h.Edge.Log.WarnContext(ctx, "not all connections are open", "error", err)
	}
}

// Invoke answers one API Gateway event. Nobody may change the answer.
func (h *Handler) Invoke(ctx context.Context, event []byte) ([]byte, error) {
	if answer, ok := h.refuse(ctx, event); ok {
		return answer, nil
	}
	return h.Edge.Serve(ctx, event, h.purchase)
}

func (h *Handler) purchase(ctx context.Context, r *apigw.Request) (apigw.Response, error) {
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()

	listing, attempt, err := h.admit(ctx, r)
	if err != nil {
		return apigw.Response{}, err
	}
	bar := h.Gate.bar(r, &listing.Sale, attempt.UserID)
	attempt.Barred = bar != nil
	shards := stock.Of(&listing.Sale)
	answer, err := h.reserve(ctx, shards, attempt)
	if err != nil {
		return apigw.Response{}, err
	}
	placed := sale.Placed{
		OrderID: attempt.OrderID, SaleID: listing.ID, ItemID: attempt.ItemID,
		UserID: attempt.UserID, ReservedAt: answer.ReservedAt,
	}
	switch answer.Outcome {
	case stock.Reserved:
		h.Latch.Won(shards, attempt.UserID)
		if h.Tracer != nil {
			return h.traced(ctx, r, shards, placed, start)
		}
		return h.publish(ctx, shards, placed)
	case stock.Already:
		if !answer.SameKey {
			return apigw.Response{}, alreadyPurchased(answer.OrderID)
		}
		if answer.Claimed {
			return accepted(answer.OrderID), nil
		}
		placed.OrderID = answer.OrderID
		return h.publishAgain(ctx, shards, placed)
	case stock.SoldOut:
		return apigw.Response{}, h.emptyShard(ctx, &listing.Sale, attempt.ItemID)
	case stock.NotOpen:
		return apigw.Response{}, notOpen(answer.OpensAt, answer.Now)
	case stock.Closed:
		return apigw.Response{}, saleClosed()
	case stock.Paused, stock.NotLoaded:
		return apigw.Response{}, apigw.Busy(retry, nil)
	case stock.Barred:
		return apigw.Response{}, bar
	default:
		return apigw.Response{}, fmt.Errorf("purchase: unexpected outcome %s", answer.Outcome)
	}
}

// admit goes through what can be judged before Redis is asked for a unit, in
// the order of precedence that the API promises.
func (h *Handler) admit(ctx context.Context, r *apigw.Request) (*sale.Listing, stock.Attempt, error) {
	if err := r.Only(http.MethodPost); err != nil {
		return nil, stock.Attempt{}, err
	}
	token, err := identity.Bearer(r.Header("Authorization"))
	if err != nil {
		return nil, stock.Attempt{}, apigw.Unauthorized(err)
	}
	itemID, ok := sale.ParseItemID(r.Params["itemId"])
	if !ok {
		return nil, stock.Attempt{}, unknownItem()
	}
	listing, ok, err := h.Catalog.ByItem(ctx, itemID)
	switch {
	case err != nil:
		return nil, stock.Attempt{}, apigw.Busy(retry, err)
	case !ok:
		return nil, stock.Attempt{}, unknownItem()
	}
	refusal := h.Latch.Refusal(ctx, h.Now(), listing, itemID)
	if refusal.Outcome == 0 && h.Latch.Await(ctx, listing.ID, itemID) {
		refusal = h.Latch.Refusal(ctx, h.Now(), listing, itemID)
	}
	if refusal.Outcome != 0 && !mayHaveWon(refusal, []byte(token)) {
		return nil, stock.Attempt{}, told(refusal, &listing.Sale)
	}
	userID, err := h.Shoppers.Shopper(ctx, token)
	switch {
	case errors.Is(err, identity.ErrUnauthenticated) && refusal.Outcome != 0:
		// As everybody else: else a forged token would tell who has won.
		same := told(refusal, &listing.Sale)
		same.Cause = err
		return nil, stock.Attempt{}, same
	case errors.Is(err, identity.ErrUnauthenticated):
		return nil, stock.Attempt{}, apigw.Unauthorized(err)
	case err != nil:
		return nil, stock.Attempt{}, apigw.Busy(retry, err)
	}
	key, ok := idempotencyKey(r)
	if !ok {
		return nil, stock.Attempt{}, apigw.Refuse(apigw.BadRequest, "Idempotency-Key must be 1 to 255 printable ASCII characters.")
	}
	return listing, stock.Attempt{
		OrderID: h.Mint.New(listing.ID, userID), UserID: userID, ItemID: itemID, IdempotencyKey: key,
	}, nil
}

// reserve asks for a unit. If the answer does not come, the hold may exist all
// the same, so it is released before the shopper is told to try again.
func (h *Handler) reserve(ctx context.Context, shards stock.Shards, a stock.Attempt) (stock.Answer, error) {
	reserving, cancel := context.WithTimeout(ctx, reserveShare)
	defer cancel()
	answer, err := h.Stock.Reserve(reserving, shards, a)
	if err == nil {
		return answer, nil
	}
	if _, releaseErr := h.release(ctx, shards, a.OrderID, a.UserID); releaseErr != nil {
		err = errors.Join(err, releaseErr)
	}
	return stock.Answer{}, apigw.Busy(retry, err)
}

// emptyShard refuses a shopper whose own shard is empty. As long as other shards
// have units some are on their way: the shard has wished for them.
func (h *Handler) emptyShard(ctx context.Context, sl *sale.Sale, item sale.ItemID) error {
	out, err := h.Latch.SoldOut(ctx, sl, item)
	if err != nil || !out {
		return apigw.Busy(retry, err)
	}
	return soldOut()
}

// publish hands the order to Kafka. After a failure the release decides between
// the shopper and a record that may still land: whoever comes first wins.
func (h *Handler) publish(ctx context.Context, shards stock.Shards, p sale.Placed) (apigw.Response, error) {
	err := h.send(ctx, p)
	if err == nil {
		return accepted(p.OrderID), nil
	}
	outcome, releaseErr := h.release(ctx, shards, p.OrderID, p.UserID)
	if releaseErr == nil && outcome == stock.StillClaimed {
		return accepted(p.OrderID), nil // it did land, and is being written
	}
	return apigw.Response{}, apigw.Busy(retry, errors.Join(err, releaseErr))
}

// publishAgain serves a shopper who repeats a purchase by its Idempotency-Key
// while no writer has seen it: the first call may have died before its publish,
// or may be about to release. Claiming the hold after our own record is
// acknowledged takes that release away from the first call, so this 202 stands.
func (h *Handler) publishAgain(ctx context.Context, shards stock.Shards, p sale.Placed) (apigw.Response, error) {
	if err := h.send(ctx, p); err != nil {
		return apigw.Response{}, apigw.Busy(retry, err) // the first call's hold is not ours to release
	}
	outcomes, err := h.Stock.Claim(ctx, shards, []sale.Placed{p})
	if err != nil {
		return apigw.Response{}, apigw.Busy(retry, err)
	}
	if outcomes[0] != stock.Claimed && outcomes[0] != stock.Confirmed {
		return apigw.Response{}, apigw.Busy(retry, fmt.Errorf("purchase: repeated, but %s", outcomes[0]))
	}
	return accepted(p.OrderID), nil
}

func (h *Handler) send(ctx context.Context, p sale.Placed) error {
	deadline, ok := ctx.Deadline()
	if ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-releaseShare))
		defer cancel()
	}
	return h.Log.Publish(ctx, p)
}

// release runs on a context of its own: the caller's may be over, and a hold
// left behind would block the unit until the sweep finds it.
func (h *Handler) release(ctx context.Context, shards stock.Shards, id sale.OrderID, userID string) (stock.ReleaseOutcome, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseShare)
	defer cancel()
	outcomes, err := h.Stock.Release(ctx, shards, stock.Unclaimed, []stock.Held{{OrderID: id, UserID: userID}})
	if err != nil {
		return 0, err
	}
	return outcomes[0], nil
}

// idempotencyKey returns the caller's key, empty if there is none. It is false
// for more than one key and for one that is not 1 to 255 printable ASCII
// characters.
func idempotencyKey(r *apigw.Request) (string, bool) {
	values := r.Header("Idempotency-Key")
	if len(values) == 0 {
		return "", true
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > 255 {
		return "", false
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return "", false
		}
	}
	return key, true
}
