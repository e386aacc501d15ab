-- Mends a shard that somebody's hand has damaged, as far as the shard itself tells what is right:
-- keys of a wrong type, fields that no script writes and holds that nobody can read are dropped, holds that
-- no row is known for are in the outbox, and each stock is its quota less the holds. It never takes a number
-- from outside: a quota or version that was dropped counts as 0 until the ledger is asserted.
-- A call that dropped holds raises no stock: their units would be on sale before their rows' holds are put
-- back. The shard stays unconserved for that long, and the next call finishes it.
-- It reads every hold: some milliseconds for 10,000.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released  6 winners
-- ARGV  1 firstLook (ms until the outbox is looked at)
--       2… for each hold that the caller cannot read: userId hold
--
-- outcome          further value
--  1 mended        how many things were wrong
--  2 not loaded    no marker, or meta itself was of a wrong type and is dropped: the shard must be rebuilt.
--                  Keys and fields are mended all the same, so that it can be.
--
-- clock: Redis TIME dates outbox entries, and a marker whose date is no number.

local MENDED, NOT_LOADED = 1, 2

local meta, holds, stock, unconfirmed, released, winners = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local firstLook = tonumber(ARGV[1])
local FIRST, STEP = 2, 2

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local look = string.format('%.0f', now + firstLook)

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
local dropped = drop(holds, 'hash')
drop(stock, 'hash')
drop(unconfirmed, 'zset')
drop(released, 'zset')
drop(winners, 'string')
-- A filter may name shoppers without a hold, but there is no reason to keep one whose holds are gone.
if dropped then redis.call('DEL', winners) end

-- One spelling, and few enough digits for Lua's numbers to be exact. check.go reads by the same rules.
local function isNumber(text)
  return #text <= 15 and (text == '0' or string.match(text, '^%-?[1-9]%d*$') ~= nil)
end
local MAX_ITEM = '9223372036854775807'
local function isItem(text)
  return string.match(text, '^[1-9]%d*$') and (#text < #MAX_ITEM or #text == #MAX_ITEM and text <= MAX_ITEM)
end
local NUMBERS = {loaded = true, version = true, settings = true, opensAt = true, closesAt = true}
local function isMeta(field, value)
  if NUMBERS[field] then return isNumber(value) end
  if field == 'paused' then return true end
  local kind, itemId = string.match(field, '^(%l+):(.+)$')
  if not kind or not isItem(itemId) then return false end
  return kind == 'quota' and isNumber(value) or kind == 'doubt' or kind == 'wants'
end

local quotas = {}
local fields = redis.call('HGETALL', meta)
for i = 1, #fields, 2 do
  local field, value = fields[i], fields[i + 1]
  if isMeta(field, value) then
    local itemId = string.match(field, '^quota:(.+)$')
    if itemId then quotas[itemId] = tonumber(value) end
  else
    mended = mended + 1
    -- That the marker is there is what counts: without it the shard would be lost.
    if field == 'loaded' then
      redis.call('HSET', meta, field, string.format('%.0f', now))
    else
      redis.call('HDEL', meta, field)
    end
  end
end
local units = redis.call('HGETALL', stock)
for i = 1, #units, 2 do
  local itemId = units[i]
  if not isItem(itemId) then
    redis.call('HDEL', stock, itemId)
    mended = mended + 1
  elseif not isNumber(units[i + 1]) then
    -- Counted when it gets its right number.
    redis.call('HDEL', stock, itemId)
    quotas[itemId] = quotas[itemId] or 0
  end
end

if redis.call('HEXISTS', meta, 'loaded') == 0 then
  redis.call('DEL', winners) -- a rebuild begins anew
  return {NOT_LOADED, mended}
end

local function dropHold(userId)
  redis.call('HDEL', holds, userId)
  redis.call('ZREM', unconfirmed, userId)
  mended = mended + 1
  dropped = true
end
for i = FIRST, #ARGV, STEP do
  if redis.call('HGET', holds, ARGV[i]) == ARGV[i + 1] then dropHold(ARGV[i]) end
end

local count = {}
local held = redis.call('HGETALL', holds)
for i = 1, #held, 2 do
  local userId = held[i]
  local itemId, payBy = string.match(held[i + 1], '^%S+ (%d+) [RC] %d+ (%S+) %S+$')
  if itemId then
    count[itemId] = (count[itemId] or 0) + 1
    if payBy == '-' then mended = mended + redis.call('ZADD', unconfirmed, 'NX', look, userId) end
  else
    dropHold(userId)
  end
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
