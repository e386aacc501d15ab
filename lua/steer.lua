-- Sets what governs a shard: its window, the reasons that pause the sale, the items in doubt.
-- The set replaces the former one as a whole, unless that is newer.
--
-- KEYS  1 meta
-- ARGV  1 version  2 opensAt (ms)  3 closesAt (ms)  4 paused (reasons, comma between, or empty)  5… items in doubt
--
-- outcome
--  1 applied      also if the shard has this very version: repeating repairs
--  2 stale        the shard has a newer set; a version that is FAR above or no number is damage, and replaced
--  3 not loaded   no marker, nothing written
--
-- clock: none.

local APPLIED, STALE, NOT_LOADED = 1, 2, 3

local meta = KEYS[1]
local version, opensAt, closesAt, paused = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local FIRST = 5
local FAR = 1000000 -- as in shared/recovery

local m = redis.call('HMGET', meta, 'loaded', 'settings')
local loaded, current = m[1], m[2]
if not loaded then return {NOT_LOADED} end
local ahead = (tonumber(current) or 0) - tonumber(version)
if ahead > 0 and ahead <= FAR then return {STALE} end

for _, field in ipairs(redis.call('HKEYS', meta)) do
  if string.sub(field, 1, 6) == 'doubt:' then redis.call('HDEL', meta, field) end
end
redis.call('HSET', meta, 'settings', version, 'opensAt', opensAt, 'closesAt', closesAt, 'paused', paused)
for i = FIRST, #ARGV do
  redis.call('HSET', meta, 'doubt:' .. ARGV[i], '1')
end
return {APPLIED}
