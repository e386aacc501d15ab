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

local function confirm(orderId, userId, payBy)
  local hold = loaded and redis.call('HGET', holds, userId)
  if not hold then return NOT_HELD end
  local ownOrder, item, reservedAt, idem = string.match(hold, '^(%S+) (%S+) %S (%S+) %S+ (%S+)$')
  if ownOrder ~= orderId then return NOT_HELD end
  redis.call('ZREM', unconfirmed, userId)
  redis.call('HSET', holds, userId,
    orderId .. ' ' .. item .. ' C ' .. reservedAt .. ' ' .. payBy .. ' ' .. idem)
  return CONFIRMED
end

local outcomes = {}
for i = 1, #ARGV, STEP do
  outcomes[#outcomes + 1] = confirm(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
return outcomes
