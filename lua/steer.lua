-- Sets what governs a shard: its window, the reasons that pause the sale, the items in doubt.
-- The set replaces the former one as a whole, unless that is newer.
--
-- KEYS  1 meta
-- ARGV  1 version  2 opensAt (ms)  3 closesAt (ms)  4 paused (reasons, comma between, or empty)  5… items in doubt
--
-- outcome
--  1 applied      also if the shard has this very version
--  2 stale        the shard has a newer set; a version that is FAR above or no number is damage, and replaced
--  3 not loaded   no marker, nothing written
--  4 put right    applied, and what stood there was no set of this or an older version: a hand has typed it
--
-- clock: none.

local APPLIED, STALE, NOT_LOADED, PUT_RIGHT = 1, 2, 3, 4

local meta = KEYS[1]
local version, opensAt, closesAt, paused = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local FIRST = 5
local FAR = 1000000 -- as in shared/recovery

local m = redis.call('HMGET', meta, 'loaded', 'settings', 'opensAt', 'closesAt', 'paused')
local loaded, current = m[1], m[2]
if not loaded then return {NOT_LOADED} end
local ahead = (tonumber(current) or 0) - tonumber(version)
if ahead > 0 and ahead <= FAR then return {STALE} end

local missing = {}
for i = FIRST, #ARGV do missing['doubt:' .. ARGV[i]] = true end
local typed
if current == version then
  typed = m[3] ~= opensAt or m[4] ~= closesAt or m[5] ~= paused
elseif current then
  typed = ahead > FAR or #current > 15 or not string.match(current, '^%d+$') -- as in repair.lua
else
  typed = m[3] -- before its first set a shard has no window
end
for _, field in ipairs(redis.call('HKEYS', meta)) do
  if string.sub(field, 1, 6) == 'doubt:' then
    typed = typed or current == version and not missing[field]
    missing[field] = nil
    redis.call('HDEL', meta, field)
  end
end
typed = typed or current == version and next(missing)
redis.call('HSET', meta, 'settings', version, 'opensAt', opensAt, 'closesAt', closesAt, 'paused', paused)
for i = FIRST, #ARGV do
  redis.call('HSET', meta, 'doubt:' .. ARGV[i], '1')
end
return {typed and PUT_RIGHT or APPLIED}
