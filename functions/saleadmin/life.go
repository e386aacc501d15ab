package saleadmin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"flashsale/shared/order"
	"flashsale/shared/orderlog"
	"flashsale/shared/sale"
)

// redriveTime bounds one redrive, below the function's own five minutes. What it has
// not reached by then, the next one does.
const redriveTime = 290 * time.Second

// standing is the answer to an action that changes a sale.
type standing struct {
	SaleID   sale.ID    `json:"saleId"`
	State    sale.State `json:"state"`
	Created  *bool      `json:"created,omitempty"`  // by this call
	Loaded   *bool      `json:"loaded,omitempty"`   // by this call
	Changed  *[]string  `json:"changed,omitempty"`  // by this call, field by field
	Archived *bool      `json:"archived,omitempty"` // by this call
	*mended
}

// mended counts what a reconcile found.
type mended struct {
	Adopted  int `json:"adopted"`
	Released int `json:"released"`
	Repaired int `json:"repaired"`

	TransfersFinished int `json:"transfersFinished"` // moves between shards that had stopped half-way
}

// create describes a sale. The same text again is no news; a sale's relative
// times were resolved when it was first seen.
func (h *Handler) create(ctx context.Context, r request) (any, error) {
	described, err := h.described(r)
	if err != nil {
		return nil, err
	}
	created, err := h.Orders.CreateSale(ctx, described, r.Sale, r.By)
	if errors.Is(err, order.ErrSaleExists) {
		return nil, refusal{"SALE_EXISTS", fmt.Sprintf("Sale %d was described differently.", described.ID)}
	}
	if err != nil {
		return nil, err
	}
	return h.standing(ctx, described.ID, standing{Created: &created})
}

// update describes a sale anew: all of it until it opens, then only a later end
// and more units.
func (h *Handler) update(ctx context.Context, r request) (any, error) {
	described, err := h.described(r)
	if err != nil {
		return nil, err
	}
	if described.ID != r.id {
		return nil, refusal{"BAD_REQUEST", fmt.Sprintf("saleId is %d, but the sale's id is %d.", r.id, described.ID)}
	}
	changed, err := h.Keeper.Update(ctx, described, r.Sale, r.By)
	if err != nil {
		return nil, err
	}
	if changed == nil {
		changed = []string{}
	}
	return h.standing(ctx, r.id, standing{Changed: &changed})
}

func (h *Handler) described(r request) (sale.Sale, error) {
	described, err := sale.ParseFile(r.Sale, h.Now())
	if err != nil {
		return sale.Sale{}, refusal{"BAD_REQUEST", err.Error()}
	}
	return described, h.admits(described)
}

// admits refuses a spread where nobody could get a pass: the sale would sell nothing.
func (h *Handler) admits(sl sale.Sale) error {
	if sl.Spread > 0 && !h.Admits {
		return refusal{"BAD_REQUEST", "A spread needs admission passes: ADMISSION_KEYS and ADMISSION_LOTTERY are not set."}
	}
	return nil
}

func (h *Handler) load(ctx context.Context, r request) (any, error) {
	l, err := h.Orders.Listing(ctx, r.id)
	if err == nil {
		err = h.admits(l.Sale)
	}
	if err != nil {
		return nil, err
	}
	first, err := h.Keeper.LoadBy(ctx, r.id, r.By)
	if err != nil {
		return nil, err
	}
	return h.standing(ctx, r.id, standing{Loaded: &first})
}

func (h *Handler) pause(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Pause(ctx, r.id, sale.PausedByOperator, r.By); err != nil {
		return nil, err
	}
	return h.govern(ctx, r.id)
}

func (h *Handler) resume(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Resume(ctx, r.id, sale.PausedByOperator, r.By); err != nil {
		return nil, err
	}
	return h.govern(ctx, r.id)
}

// close stops purchases. Unpaid orders keep their window.
func (h *Handler) close(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Close(ctx, r.id, r.By); err != nil {
		return nil, err
	}
	return h.govern(ctx, r.id)
}

// archive ends a sale for good: its keys go, its rows stay.
func (h *Handler) archive(ctx context.Context, r request) (any, error) {
	first, err := h.Keeper.Archive(ctx, r.id, r.By)
	if err != nil {
		return nil, err
	}
	return h.standing(ctx, r.id, standing{Archived: &first})
}

// reconcile compares both sides at once instead of with the next pass.
func (h *Handler) reconcile(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Note(ctx, r.id, r.By, "reconcile"); err != nil {
		return nil, err
	}
	l, err := h.Orders.Listing(ctx, r.id)
	if err != nil {
		return nil, err
	}
	if !l.Loaded {
		return h.standing(ctx, r.id, standing{mended: &mended{}})
	}
	done, err := h.Keeper.Reconcile(ctx, &l.Sale)
	if err != nil {
		return nil, err
	}
	return h.standing(ctx, r.id, standing{mended: &mended{done.Adopted, done.Released, done.Repaired, done.TransfersFinished}})
}

// redriven is the answer to redrive.
type redriven struct {
	SaleID   sale.ID `json:"saleId"`
	Redriven int     `json:"redriven"`
	Skipped  int     `json:"skipped"` // letters that nobody can read
}

// redrive publishes the sale's dead letters again.
func (h *Handler) redrive(ctx context.Context, r request) (any, error) {
	if err := h.Orders.Note(ctx, r.id, r.By, "redrive"); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, redriveTime)
	defer cancel()
	done, err := orderlog.Redrive(ctx, h.Kafka, h.DeadLetterTopic, h.OrdersTopic, r.id)
	if err != nil {
		return nil, err
	}
	return redriven{r.id, done.Published, done.Unreadable}, nil
}

// govern asserts the settings on Redis even when nothing changed: an operator
// who says "pause" again means it.
func (h *Handler) govern(ctx context.Context, id sale.ID) (any, error) {
	if err := h.Keeper.Govern(ctx, id); err != nil {
		return nil, err
	}
	return h.standing(ctx, id, standing{})
}

// standing completes an answer, after the catalog has heard of the change.
func (h *Handler) standing(ctx context.Context, id sale.ID, s standing) (any, error) {
	if err := h.Orders.PublishCatalog(ctx, h.Stock.PutCatalog); err != nil {
		return nil, err
	}
	l, err := h.Orders.Listing(ctx, id)
	if err != nil {
		return nil, err
	}
	s.SaleID, s.State = id, l.StateAt(h.Now(), l.Standing)
	return s, nil
}
