-- Hands out the holds in the outbox whose look has come, and sets their next look: as far away as the
-- hold is old, so looks double, but no sooner than the first one and no later than the longest wait.
-- A look that is further away than that was set by a clock that is ahead of this one, as after a failover,
-- or by somebody's hand: it has come.
--
-- KEYS  1 meta  2 holds  3 unconfirmed
-- ARGV  1 limit  2 firstLook (ms)  3 longestWait (ms)
--
-- outcome          further values
--  1 due           for each hold: userId, hold
--  2 not loaded    no marker, nothing written
--
-- clock: Redis TIME tells what has come, and each hold's age.

local DUE, NOT_LOADED = 1, 2

local meta, holds, unconfirmed = KEYS[1], KEYS[2], KEYS[3]
local limit, firstLook, longestWait = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])

if not redis.call('HGET', meta, 'loaded') then return {NOT_LOADED} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- How long from now a hold's next look may be away. One that cannot be read has no age; the caller will report it.
local function wait(hold)
  local reservedAt = string.match(hold, '^%S+ %S+ %S (%d+) ')
  return math.min(math.max(now - (tonumber(reservedAt) or now), firstLook), longestWait)
end

local answer = {DUE}
local users = redis.call('ZRANGEBYSCORE', unconfirmed, '-inf', string.format('%.0f', now), 'LIMIT', 0, limit)
if #users < limit then
  local away = redis.call('ZREVRANGEBYSCORE', unconfirmed, '+inf', '(' .. string.format('%.0f', now + firstLook),
    'WITHSCORES', 'LIMIT', 0, limit - #users)
  for i = 1, #away, 2 do
    local hold = redis.call('HGET', holds, away[i])
    if not hold or tonumber(away[i + 1]) > now + wait(hold) then users[#users + 1] = away[i] end
  end
end
for _, userId in ipairs(users) do
  local hold = redis.call('HGET', holds, userId)
  if hold then
    redis.call('ZADD', unconfirmed, string.format('%.0f', now + wait(hold)), userId)
    answer[#answer + 1] = userId
    answer[#answer + 1] = hold
  else
    -- No script leaves an entry without a hold; whoever did, it would come back for ever.
    redis.call('ZREM', unconfirmed, userId)
  end
end
return answer
