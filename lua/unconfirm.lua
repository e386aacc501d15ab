-- Puts holds whose orders have no row back into the outbox, so that their records are published again: at
-- once, since somebody's hand, or a database that forgot its last rows, has left them where nobody looks.
--
-- KEYS  1 meta  2 holds  3 unconfirmed
-- ARGV  for each order: orderId userId payBy (ms or -) as the hold had it before its row was looked for
--
-- Answers one outcome for each order:
--  1 put back
--  2 left alone   in the outbox already, or another hold, or confirmed meanwhile; also without the marker
--
-- clock: Redis TIME dates outbox entries.

local PUT_BACK, LEFT_ALONE = 1, 2

local meta, holds, unconfirmed = KEYS[1], KEYS[2], KEYS[3]
local STEP = 3

local loaded = redis.call('HGET', meta, 'loaded')
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))

local function unconfirm(orderId, userId, payBy)
  local hold = loaded and redis.call('HGET', holds, userId)
  if not hold then return LEFT_ALONE end
  local ownOrder, ownPayBy = string.match(hold, '^(%S+) %S+ %S %S+ (%S+) %S+$')
  if ownOrder ~= orderId or ownPayBy ~= payBy then return LEFT_ALONE end
  return redis.call('ZADD', unconfirmed, 'NX', now, userId) == 1 and PUT_BACK or LEFT_ALONE
end

local outcomes = {}
for i = 1, #ARGV, STEP do
  outcomes[#outcomes + 1] = unconfirm(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
return outcomes
