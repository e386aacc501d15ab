-- Mends a shard that somebody's hand has damaged, as far as the shard itself tells what is right:
-- a key of a wrong type is dropped, a hold that nobody can read is dropped, holds that no row is known
-- for are in the outbox, and each stock is its quota less the holds. It never takes a number from outside.
-- A call that dropped holds raises no stock: their units would be on sale before their rows' holds are put
-- back. The shard stays unconserved for that long, and the next call finishes it.
-- It reads every hold: some milliseconds for 10,000.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released
-- ARGV  1 firstLook (ms until the outbox is looked at)
--
-- outcome          further value
--  1 mended        how many things were wrong
--  2 not loaded    no marker, or meta itself was of a wrong type and is dropped: the shard must be rebuilt
--
-- clock: Redis TIME dates outbox entries.

local MENDED, NOT_LOADED = 1, 2

local meta, holds, stock, unconfirmed, released = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local firstLook = tonumber(ARGV[1])

local mended = 0
local function drop(key, wanted)
  local kind = redis.call('TYPE', key)
  kind = type(kind) == 'table' and kind.ok or kind
  if kind ~= wanted and kind ~= 'none' then
    redis.call('DEL', key)
    mended = mended + 1
    return true
  end
  return false
end
drop(meta, 'hash')
if redis.call('HEXISTS', meta, 'loaded') == 0 then return {NOT_LOADED, mended} end
local dropped = drop(holds, 'hash')
drop(stock, 'hash')
drop(unconfirmed, 'zset')
drop(released, 'zset')

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local look = string.format('%.0f', now + firstLook)

local count = {}
local held = redis.call('HGETALL', holds)
for i = 1, #held, 2 do
  local userId = held[i]
  local itemId, payBy = string.match(held[i + 1], '^%S+ (%d+) [RC] %d+ (%S+) %S+$')
  if itemId then
    count[itemId] = (count[itemId] or 0) + 1
    if payBy == '-' then mended = mended + redis.call('ZADD', unconfirmed, 'NX', look, userId) end
  else
    redis.call('HDEL', holds, userId)
    redis.call('ZREM', unconfirmed, userId)
    mended = mended + 1
    dropped = true
  end
end

local quotas = {}
local fields = redis.call('HGETALL', meta)
for i = 1, #fields, 2 do
  local itemId = string.match(fields[i], '^quota:(%d+)$')
  if itemId then quotas[itemId] = tonumber(fields[i + 1]) or 0 end
end
-- A hold or a stock without a quota counts against a quota of 0.
for itemId in pairs(count) do quotas[itemId] = quotas[itemId] or 0 end
for _, itemId in ipairs(redis.call('HKEYS', stock)) do quotas[itemId] = quotas[itemId] or 0 end

for itemId, quota in pairs(quotas) do
  local right = quota - (count[itemId] or 0)
  local text = string.format('%.0f', right)
  local current = redis.call('HGET', stock, itemId)
  local raises = right > (tonumber(current or '') or -math.huge)
  if current ~= text and not (dropped and raises) then
    redis.call('HSET', stock, itemId, text)
    mended = mended + 1
  end
end
return {MENDED, mended}
