package linear_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"

	"flashsale/shared/stock"
)

// A history has few shoppers, so that they meet, and so few orders that a bit each is enough.
const (
	shoppers = 4
	orders   = 64
)

// A call is one operation on the shard. Orders count from 1.
type call struct {
	verb  string // reserve, claim, or a release mode
	user  int
	order int
}

// A reply is what the caller saw.
type reply struct {
	unknown bool // no answer came
	outcome string
	own     int // the order behind "already"
}

// A shard is what the model knows of it: one item, on sale.
type shard struct {
	stock      int
	holds      [shoppers]hold
	tombstones [orders]bool
}

type hold struct {
	order   int // 0: none
	claimed bool
}

// model is the promise of the scripts' headers, for one loaded and open item.
func model(quantity int) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return shard{stock: quantity} },
		Step: func(state, input, output any) (bool, any) {
			s, seen := state.(shard), output.(reply) //nolint:forcetypeassert // ours
			next, said := s.do(input.(call))         //nolint:forcetypeassert // ours
			return seen.unknown || seen == said, next
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%v → %v", input, output) },
	}
}

func (s shard) do(c call) (shard, reply) {
	own := s.holds[c.user]
	switch c.verb {
	case "reserve":
		return s.reserve(c, own)
	case "claim":
		return s.claim(c, own)
	default:
		return s.release(c, own)
	}
}

func (s shard) reserve(c call, own hold) (shard, reply) {
	switch {
	case own.order == c.order:
		return s, reply{outcome: stock.Reserved.String()}
	case own.order != 0:
		return s, reply{outcome: stock.Already.String(), own: own.order}
	case s.stock <= 0:
		return s, reply{outcome: stock.SoldOut.String()}
	case s.tombstones[c.order]:
		return s, reply{outcome: stock.Tombstoned.String()}
	}
	s.stock--
	s.holds[c.user] = hold{order: c.order}
	return s, reply{outcome: stock.Reserved.String()}
}

func (s shard) claim(c call, own hold) (shard, reply) {
	switch {
	case own.order == c.order:
	case s.tombstones[c.order]:
		return s, reply{outcome: stock.Dropped.String()}
	case own.order != 0:
		return s, reply{outcome: stock.Superseded.String()}
	default: // lost with its decrement
		s.stock--
	}
	s.holds[c.user] = hold{c.order, true}
	return s, reply{outcome: stock.Claimed.String()}
}

func (s shard) release(c call, own hold) (shard, reply) {
	mode := stock.ReleaseMode(c.verb)
	switch {
	case own.order != c.order:
		if mode == stock.Unclaimed {
			s.tombstones[c.order] = true
		}
		return s, reply{outcome: stock.NotHeld.String()}
	case mode == stock.Unclaimed && own.claimed:
		return s, reply{outcome: stock.StillClaimed.String()}
	}
	s.stock++
	s.holds[c.user] = hold{}
	if mode != stock.Settled {
		s.tombstones[c.order] = true
	}
	return s, reply{outcome: stock.Released.String()}
}
