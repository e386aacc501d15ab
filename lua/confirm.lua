-- Notes that orders' rows are written: whatever the state of the hold with this orderId, it is claimed,
-- has its payBy, and leaves the outbox. Never recreates a hold: one that is gone was released.
--
-- KEYS  1 meta  2 holds  3 unconfirmed
-- ARGV  for each order: orderId userId payBy (ms)
--
-- Answers one outcome for each order:
--  1 confirmed
--  2 not held     also without the marker
--
-- clock: none.

local CONFIRMED, NOT_HELD = 1, 2

local meta, holds, unconfirmed = KEYS[1], KEYS[2], KEYS[3]
local STEP = 3

local loaded = redis.call('HGET', meta, 'loaded')

local users = {}
for i = 1, #ARGV, STEP do users[#users + 1] = ARGV[i + 1] end

-- All holds are read by one call and written by one.
local held, confirmed, done, n = {}, {}, {}, 1
if loaded then
  for i, hold in ipairs(redis.call('HMGET', holds, unpack(users))) do held[users[i]] = hold end
end

local function confirm(orderId, userId, payBy)
  local hold = held[userId]
  if not hold or string.find(hold, orderId, 1, true) ~= 1 then return NOT_HELD end
  -- From the front: an item's id may be one digit, and look like the state.
  local told, found = string.gsub(hold, '^(%S+ %S+) %S (%S+) %S+ ', '%1 C %2 ' .. payBy .. ' ', 1)
  if found == 0 then return NOT_HELD end
  done[#done + 1] = userId
  confirmed[n], confirmed[n + 1], n = userId, told, n + 2
  return CONFIRMED
end

local outcomes = {}
for i = 1, #ARGV, STEP do
  outcomes[#outcomes + 1] = confirm(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
if #done > 0 then
  redis.call('ZREM', unconfirmed, unpack(done))
  redis.call('HSET', holds, unpack(confirmed))
end
return outcomes
