-- Claims holds for the writer, before it writes their rows: from here on the purchase can no longer
-- give them up. A hold that is missing without a tombstone was lost by a failover together with its
-- decrement, so it is put back and the stock lowered. Works while the sale is paused or closed.
-- The reconciler adopts by it: for an order whose row lives a tombstone is no reason to drop it.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released  6 winners
-- ARGV  1 firstLook (ms until the outbox is looked at)  2 adopt (1: whatever the tombstones say)
--       3… for each order: orderId userId itemId reservedAt (ms)
--
-- Answers one outcome for each order:
--  1 claimed
--  2 dropped      tombstoned: nobody waits for this order
--  3 superseded   the shopper holds another order
--  4 unguarded    no marker: Redis knows nothing, the database decides alone
--  5 confirmed    claimed, and its row was written before: the record came twice, or the row is lost
--
-- An item without a quota here is put back as well: its quota counts as 0, so -1 in stock and one hold
-- conserve it, and an acknowledged order must not end because Redis forgot. The database decides.
-- clock: Redis TIME dates the outbox entry of a hold that is put back.

local CLAIMED, DROPPED, SUPERSEDED, UNGUARDED, CONFIRMED = 1, 2, 3, 4, 5
local HEADER = 64 -- of the winners' filter; its form is told in winners.lua

local meta, holds, stock, unconfirmed, released, winners = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local firstLook, adopt = tonumber(ARGV[1]), ARGV[2] == '1'
local FIRST, STEP = 3, 4

local loaded = redis.call('HGET', meta, 'loaded')
-- A key of a wrong type fails here, before anything is written.
redis.call('HLEN', stock)
redis.call('ZCARD', unconfirmed)
local filter = redis.call('STRLEN', winners)

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local look = string.format('%.0f', now + firstLook)

-- As in reserve.lua.
local function enlist(userId)
  local hash, bits = redis.sha1hex(userId), (filter - HEADER) * 8
  for i = 1, 31, 5 do
    redis.call('SETBIT', winners, HEADER * 8 + tonumber(string.sub(hash, i, i + 4), 16) % bits, 1)
  end
  local added = (tonumber(redis.call('GETRANGE', winners, 32, 47)) or 0) + 1
  local chain = redis.sha1hex(redis.call('GETRANGE', winners, 48, 63) .. userId)
  redis.call('SETRANGE', winners, 32, string.format('%016.0f', added) .. string.sub(chain, 1, 16))
end

local users = {}
for i = FIRST, #ARGV, STEP do users[#users + 1] = ARGV[i + 1] end

-- All holds are read by one call, and those that are there are written by one. What is claimed here is seen by
-- what comes after it.
local held, claimed, n = {}, {}, 1
if loaded then
  for i, hold in ipairs(redis.call('HMGET', holds, unpack(users))) do held[users[i]] = hold end
end

local function claim(orderId, userId, itemId, reservedAt)
  if not loaded then return UNGUARDED end
  local hold = held[userId]
  if hold and string.find(hold, orderId, 1, true) == 1 then -- no order id begins another
    if string.find(hold, '^%S+ %S+ C %S+ %d+ ') then return CONFIRMED end
    held[userId] = string.gsub(hold, ' R ', ' C ', 1)
    claimed[n], claimed[n + 1], n = userId, held[userId], n + 2
    return CLAIMED
  end
  if not adopt and redis.call('ZSCORE', released, orderId) then return DROPPED end
  if hold then return SUPERSEDED end
  redis.call('HINCRBY', stock, itemId, -1)
  -- At once: a later order whose item's stock is no number ends the script, and a unit would be gone.
  held[userId] = orderId .. ' ' .. itemId .. ' C ' .. reservedAt .. ' - -'
  redis.call('HSET', holds, userId, held[userId])
  redis.call('ZADD', unconfirmed, look, userId)
  if filter > HEADER then enlist(userId) end
  return CLAIMED
end

local outcomes = {}
for i = FIRST, #ARGV, STEP do
  outcomes[#outcomes + 1] = claim(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
if #claimed > 0 then redis.call('HSET', holds, unpack(claimed)) end
return outcomes
