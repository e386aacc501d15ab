-- Holds one unit of an item for a shopper, or says why not. The only way a unit leaves the stock for a shopper.
-- Again with the same orderId it answers reserved again, so a client may repeat a call whose answer was lost.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released  6 winners
-- ARGV  1 orderId  2 userId  3 itemId  4 idem (hash of the Idempotency-Key or -)
--       5 barred (1: the caller refuses a new hold)  6 firstLook (ms until the outbox is looked at)
--       7 others (1: the sale has other shards, so one that is sold out wishes for their units)
--
-- outcome            further values
--  1 reserved        reservedAt (ms), units left in this shard
--  2 already         the shopper's own hold
--  3 sold out        in this shard; with others the wish is noted in meta, once
--  4 not open        opensAt (ms), now (ms)
--  5 closed
--  6 paused          also when the item is in doubt
--  7 not loaded      no marker, no window yet (a load that is not through), or the item's stock is gone or
--                    above its quota, as no script leaves it
--  8 barred
--  9 tombstoned      this order was given up; it must not come back
-- 10 unknown item    this shard has no quota of it
--
-- clock: Redis TIME judges the window [opensAt, closesAt).

local RESERVED, ALREADY, SOLD_OUT, NOT_OPEN, CLOSED = 1, 2, 3, 4, 5
local HEADER = 64 -- of the winners' filter; its form is told in winners.lua
local PAUSED, NOT_LOADED, BARRED, TOMBSTONED, UNKNOWN_ITEM = 6, 7, 8, 9, 10

local meta, holds, stock, unconfirmed, released, winners = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local orderId, userId, itemId, idem = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local barred, firstLook, others = ARGV[5] == '1', tonumber(ARGV[6]), ARGV[7] == '1'

local m = redis.call('HMGET', meta,
  'loaded', 'opensAt', 'closesAt', 'paused', 'quota:' .. itemId, 'doubt:' .. itemId, 'wants:' .. itemId)
local loaded, opensAt, closesAt, paused, quota, doubt, wants = m[1], m[2], m[3], m[4], m[5], m[6], m[7]

if not loaded then return {NOT_LOADED} end

-- The own hold comes first: a winner hears of it whatever the sale's state.
local own = redis.call('HGET', holds, userId)
if own then
  local ownOrder, reservedAt = string.match(own, '^(%S+) %S+ %S+ (%S+) ')
  if ownOrder ~= orderId then return {ALREADY, own} end
  return {RESERVED, reservedAt, tonumber(redis.call('HGET', stock, itemId)) or 0}
end

if not opensAt then return {NOT_LOADED} end
if doubt or (paused and paused ~= '') then return {PAUSED} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
-- Closed first: a sale may be closed before it opens, and then no opening is to be announced.
if now >= tonumber(closesAt) then return {CLOSED} end
if now < tonumber(opensAt) then return {NOT_OPEN, opensAt, string.format('%.0f', now)} end
if barred then return {BARRED} end

if not quota then return {UNKNOWN_ITEM} end
local left, most = tonumber(redis.call('HGET', stock, itemId)), tonumber(quota)
-- Stock is quota less holds. Somebody has typed what is more, and those units are other shoppers'.
if not left or not most or left > most then return {NOT_LOADED} end
-- At or below zero: a failover may have left the stock negative.
if left <= 0 then
  if others and not wants then redis.call('HSET', meta, 'wants:' .. itemId, '1') end
  return {SOLD_OUT}
end
if redis.call('ZSCORE', released, orderId) then return {TOMBSTONED} end

local filter = redis.call('STRLEN', winners)
-- The outbox goes first: it is the one key not read yet, and if its type is wrong nothing is written.
local reservedAt = string.format('%.0f', now)
redis.call('ZADD', unconfirmed, string.format('%.0f', now + firstLook), userId)
redis.call('HSET', holds, userId, orderId .. ' ' .. itemId .. ' R ' .. reservedAt .. ' - ' .. idem)
-- Only after a sell-out is there a filter: while the crowd is served, its bits would cost every winner time.
if filter > HEADER then
  local hash, bits = redis.sha1hex(userId), (filter - HEADER) * 8
  for i = 1, 31, 5 do
    redis.call('SETBIT', winners, HEADER * 8 + tonumber(string.sub(hash, i, i + 4), 16) % bits, 1)
  end
  local added = (tonumber(redis.call('GETRANGE', winners, 32, 47)) or 0) + 1
  local chain = redis.sha1hex(redis.call('GETRANGE', winners, 48, 63) .. userId)
  redis.call('SETRANGE', winners, 32, string.format('%016.0f', added) .. string.sub(chain, 1, 16))
end
return {RESERVED, reservedAt, redis.call('HINCRBY', stock, itemId, -1)}
