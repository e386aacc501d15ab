package target

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A Sale is what everybody can see of one.
type Sale struct {
	OpensAt time.Time
	Item    int64
	Lottery bool // shoppers need passes
}

// Look asks a target for its sale. Without an item's id it must have one item only.
func Look(ctx context.Context, base string, sale, item int64) (Sale, error) {
	at := strings.TrimRight(base, "/") + "/api/flash-sales/" + strconv.FormatInt(sale, 10)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return Sale{}, fmt.Errorf("target: %w", err)
	}
	code, _, body := NewHTTP(base, 1).do(request)
	if code != http.StatusOK {
		return Sale{}, fmt.Errorf("target: GET %s: status %d, want 200 (0 is no answer)", at, code)
	}
	var seen struct {
		OpensAt   time.Time
		Admission bool
		Items     []struct{ ItemID int64 }
	}
	if err := json.Unmarshal(body, &seen); err != nil {
		return Sale{}, fmt.Errorf("target: GET %s: %w", at, err)
	}
	for _, it := range seen.Items {
		if it.ItemID == item || item == 0 && len(seen.Items) == 1 {
			return Sale{seen.OpensAt, it.ItemID, seen.Admission}, nil
		}
	}
	return Sale{}, fmt.Errorf("target: the sale has %d items, and -item %d names none of them", len(seen.Items), item)
}
