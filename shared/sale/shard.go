package sale

import "github.com/cespare/xxhash/v2"

// HomeShard tells which of n shards decides for a shopper. All of a shopper's
// holds in a sale lie there, so one script sees the rule "one per sale".
func HomeShard(userID string, n int) int {
	if n <= 1 {
		return 0
	}
	return int(xxhash.Sum64String(userID) % uint64(n)) //nolint:gosec // n is positive and small
}

// SplitQuota divides quantity over n shards as evenly as it goes; the first
// ones get the rest. It is the ledger's state at the first load.
func SplitQuota(quantity, n int) []int {
	quota := make([]int, n)
	for i := range quota {
		quota[i] = quantity / n
		if i < quantity%n {
			quota[i]++
		}
	}
	return quota
}
