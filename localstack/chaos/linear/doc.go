// Package linear checks that a shard behaves as if its calls came one after the other.
//
// Shoppers, writers and releases work on one shard at once, over a network that loses requests
// and answers. What each of them saw is a history; porcupine looks for a sequence of the same
// calls that explains it. A call without an answer may have happened, at any time, or not. The
// model that judges is tested too: histories that are wrong must be refused.
package linear
