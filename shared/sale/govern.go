package sale

import "time"

// Placed is a winning purchase: what the record in the order log, the claim in
// Redis and the row in PostgreSQL are made from.
type Placed struct {
	OrderID    OrderID
	SaleID     ID
	ItemID     ItemID
	UserID     string
	ReservedAt time.Time // by Redis' clock, milliseconds
}

// Settings govern a sale's shards: its window and what stops it. They live in
// PostgreSQL; Redis takes a set only if its version is not older than the one
// it has, so a slow writer cannot undo a pause.
type Settings struct {
	Version  int64
	OpensAt  time.Time
	ClosesAt time.Time
	Paused   []PauseReason // stops the whole sale
	Doubts   []ItemID      // stops these items
}

// A PauseReason says who stopped a sale. Each must be lifted by itself.
type PauseReason string

// The reasons that stop a whole sale. A doubt stops one item.
const (
	PausedByOperator PauseReason = "operator"
	PausedByRebuild  PauseReason = "rebuild"
)

// A Ledger says how an item's units are divided over the shards. Per item the
// quotas sum to its quantity; a higher version replaces a lower one.
type Ledger struct {
	Version int64
	Shards  []map[ItemID]int // quota by item, for each shard
}
