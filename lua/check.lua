-- Reports a shard at one moment, so that stock + holds = quota can be judged. Writes nothing.
-- It reads every hold: some milliseconds for 10,000.
--
-- KEYS  1 meta  2 holds  3 stock  4 unconfirmed  5 released
-- ARGV  none
--
-- outcome          further values, both outcomes
--  1 loaded        meta (fields and values), stock (items and units), holds (items and reserved, claimed,
--  2 not loaded    confirmed), length of the outbox, tombstones, holds that cannot be read
--
-- claimed means by a writer and still in the outbox; confirmed is claimed and out of it.
-- clock: none.

local LOADED, NOT_LOADED = 1, 2

local meta, holds, stock, unconfirmed, released = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]

local waiting = {}
local outbox = redis.call('ZRANGE', unconfirmed, 0, -1)
for _, userId in ipairs(outbox) do waiting[userId] = true end

local items, counts, unreadable = {}, {}, 0
local held = redis.call('HGETALL', holds)
for i = 1, #held, 2 do
  local itemId, state = string.match(held[i + 1], '^%S+ (%d+) ([RC]) %d+ %S+ %S+$')
  if itemId then
    local count = counts[itemId]
    if not count then
      count = {0, 0, 0}
      counts[itemId] = count
      items[#items + 1] = itemId
    end
    local column = state == 'R' and 1 or (waiting[held[i]] and 2 or 3)
    count[column] = count[column] + 1
  else
    unreadable = unreadable + 1
  end
end

local byItem = {}
for _, itemId in ipairs(items) do
  byItem[#byItem + 1] = itemId
  for column = 1, 3 do byItem[#byItem + 1] = counts[itemId][column] end
end

local outcome = redis.call('HEXISTS', meta, 'loaded') == 1 and LOADED or NOT_LOADED
return {outcome, redis.call('HGETALL', meta), redis.call('HGETALL', stock), byItem,
  #outbox, redis.call('ZCARD', released), unreadable}
