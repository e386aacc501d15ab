package stock

import (
	"strconv"
	"sync"

	"flashsale/shared/sale"
)

// catalogKey holds all sales, so it belongs to none.
const catalogKey = "catalog"

// slots is how many hash slots a Redis Cluster has.
const slots = 16384

// maxCachedSales bounds the keyring. Environments see few sales at a time.
const maxCachedSales = 256

// shardKeys are the keys of one shard. They share a hash tag, so one script may touch them all.
type shardKeys struct {
	meta, holds, stock, unconfirmed, released, winners, fill string

	// The lists of KEYS as the scripts' headers give them, made once.
	all, release, outbox, quota, steer, filter, filling []string

	reserve pipe
}

// A keyring remembers the keys of sales: finding the tags is too slow for each purchase.
type keyring struct {
	mu    sync.RWMutex
	sales map[Shards][]*shardKeys
}

func (r *keyring) of(sh Shards) []*shardKeys {
	r.mu.RLock()
	keys, ok := r.sales[sh]
	r.mu.RUnlock()
	if ok {
		return keys
	}
	keys = make([]*shardKeys, max(sh.N, 1))
	for k := range keys {
		keys[k] = newShardKeys(tag(sh.Sale, k, len(keys)))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sales == nil || len(r.sales) >= maxCachedSales {
		r.sales = make(map[Shards][]*shardKeys)
	}
	r.sales[sh] = keys
	return keys
}

func newShardKeys(tag string) *shardKeys {
	k := &shardKeys{
		meta:        tag + ":meta",
		holds:       tag + ":holds",
		stock:       tag + ":stock",
		unconfirmed: tag + ":unconfirmed",
		released:    tag + ":released",
		winners:     tag + ":winners",
		fill:        tag + ":winners:fill",
	}
	k.all = []string{k.meta, k.holds, k.stock, k.unconfirmed, k.released, k.winners}
	k.release = []string{k.meta, k.holds, k.stock, k.unconfirmed, k.released}
	k.outbox = []string{k.meta, k.holds, k.unconfirmed}
	k.quota = []string{k.meta, k.stock}
	k.steer = []string{k.meta}
	k.reserve.script = reserveScript
	k.filter = []string{k.meta, k.winners}
	k.filling = []string{k.meta, k.winners, k.fill}
	return k
}

// tag is the hash tag of shard k of n. Its slot lies in the k-th n-th of the slot
// range, so that a cluster's nodes get equally many shards. Plain numbered tags
// cluster on few nodes; the smallest suffix that fits is taken, and often none.
func tag(id sale.ID, k, n int) string {
	name := "sale:" + strconv.FormatUint(uint64(id), 10) + ":" + strconv.Itoa(k)
	for suffix, candidate := 1, name; ; suffix++ {
		if slot(candidate)*n/slots == k {
			return "{" + candidate + "}"
		}
		candidate = name + ":" + strconv.Itoa(suffix)
	}
}

// slot is the Redis Cluster slot of a tag: CRC16 (XMODEM) modulo the slots.
func slot(tag string) int {
	var crc uint16
	for _, b := range []byte(tag) {
		crc ^= uint16(b) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slots
}
