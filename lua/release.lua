-- Gives units back, each if and only if the shopper's hold has this orderId: so twice is once.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released
-- ARGV  1 mode, then for each order: orderId userId
--       settled    the row is final (expired, cancelled): no tombstone; a record that comes again finds that row
--       rejected   the row was refused: a tombstone if the unit came back
--       unclaimed  the purchase gives up: not if a writer has claimed; a tombstone also where nothing is held,
--                  because the record may still land
--
-- Answers one outcome for each order:
--  1 released
--  2 not held
--  3 claimed      mode unclaimed only: the order lives
--  4 not loaded   no marker, nothing written
--
-- clock: Redis TIME dates tombstones.

local RELEASED, NOT_HELD, CLAIMED, NOT_LOADED = 1, 2, 3, 4

local meta, holds, stock, unconfirmed, released = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local mode = ARGV[1]
local FIRST, STEP = 2, 2

if mode ~= 'settled' and mode ~= 'rejected' and mode ~= 'unclaimed' then
  return redis.error_reply('ERR unknown release mode')
end
local loaded = redis.call('HGET', meta, 'loaded')
-- A key of a wrong type fails here, before anything is written.
redis.call('HLEN', stock)
redis.call('ZCARD', unconfirmed)
redis.call('ZCARD', released)

local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))

local function release(orderId, userId)
  if not loaded then return NOT_LOADED end
  local ownOrder, itemId, state
  local hold = redis.call('HGET', holds, userId)
  if hold then ownOrder, itemId, state = string.match(hold, '^(%S+) (%S+) (%S)') end
  if ownOrder ~= orderId then
    if mode == 'unclaimed' then redis.call('ZADD', released, now, orderId) end
    return NOT_HELD
  end
  if mode == 'unclaimed' and state == 'C' then return CLAIMED end
  redis.call('HINCRBY', stock, itemId, 1)
  redis.call('HDEL', holds, userId)
  redis.call('ZREM', unconfirmed, userId)
  if mode ~= 'settled' then redis.call('ZADD', released, now, orderId) end
  return RELEASED
end

local outcomes = {}
for i = FIRST, #ARGV, STEP do
  outcomes[#outcomes + 1] = release(ARGV[i], ARGV[i + 1])
end
return outcomes
