-- Reports a shard at one moment, so that stock + holds = quota can be judged. Writes nothing.
-- It answers every hold as it is, because what a hold is is said in one place, shared/stock/hold.go:
-- some milliseconds for 10,000.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released  6 winners
-- ARGV  none
--
-- outcome          further values, both outcomes
--  1 loaded        meta (fields and values), stock (items and units), holds (shoppers and holds),
--  2 not loaded    the shoppers in the outbox, number of tombstones
--
-- clock: none.

local LOADED, NOT_LOADED = 1, 2

local meta, holds, stock, unconfirmed, released, winners = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]

redis.call('STRLEN', winners) -- a wrong type is an error here as everywhere
local outcome = redis.call('HEXISTS', meta, 'loaded') == 1 and LOADED or NOT_LOADED
return {outcome, redis.call('HGETALL', meta), redis.call('HGETALL', stock), redis.call('HGETALL', holds),
  redis.call('ZRANGE', unconfirmed, 0, -1), redis.call('ZCARD', released)}
