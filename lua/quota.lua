-- Tells a shard its quotas and moves each stock by the difference, if the ledger's version is newer.
-- So one script serves the first load, more units, moves between shards and repair, and none of them
-- can overwrite what was sold meanwhile. An item without a quota has had 0.
--
-- KEYS  1 meta  2 stock
-- ARGV  1 version  2 mode  3… for each item: itemId quota
--       load    may load a shard that has no marker
--       assert  the shard takes its quotas whatever it has: the ledger is right
--       shrink  a move takes units away before the ledger knows: as assert, but only units that are in stock
--
-- outcome
--  1 applied
--  2 stale        the shard has this version or a newer one; one that is FAR above it is damage, and replaced
--  3 not loaded   no marker and no permission to load, nothing written
--  4 not enough   shrink only: fewer units are in stock, nothing written
--
-- A quota in meta that no script wrote is an error: by it nobody can tell a difference. Repair drops it.
--
-- clock: Redis TIME dates the marker.

local APPLIED, STALE, NOT_LOADED, NOT_ENOUGH = 1, 2, 3, 4

local meta, stock = KEYS[1], KEYS[2]
local version, mode = ARGV[1], ARGV[2]
local FIRST, STEP = 3, 2
local FAR = 1000000 -- as in shared/recovery

if mode ~= 'load' and mode ~= 'assert' and mode ~= 'shrink' then
  return redis.error_reply('ERR unknown quota mode')
end
local m = redis.call('HMGET', meta, 'loaded', 'version')
local loaded, current = m[1], m[2]
-- A key of a wrong type fails here, before anything is written.
redis.call('HLEN', stock)

if not loaded and mode ~= 'load' then return {NOT_LOADED} end
local ahead = (tonumber(current) or 0) - tonumber(version)
if loaded and ahead >= 0 and ahead <= FAR then return {STALE} end

local function change(i)
  local quota = redis.call('HGET', meta, 'quota:' .. ARGV[i]) or '0'
  if not string.match(quota, '^%-?%d+$') then error('damaged quota of item ' .. ARGV[i]) end
  return tonumber(ARGV[i + 1]) - tonumber(quota)
end
if mode == 'shrink' then
  for i = FIRST, #ARGV, STEP do
    local less = -change(i)
    if less > 0 and (tonumber(redis.call('HGET', stock, ARGV[i])) or 0) < less then return {NOT_ENOUGH} end
  end
end
if not loaded then
  local time = redis.call('TIME')
  redis.call('HSET', meta, 'loaded',
    string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)))
end
for i = FIRST, #ARGV, STEP do
  local left = redis.call('HINCRBY', stock, ARGV[i], string.format('%.0f', change(i)))
  redis.call('HSET', meta, 'quota:' .. ARGV[i], string.format('%.0f', tonumber(ARGV[i + 1])))
  -- What was wished for has come.
  if left > 0 then redis.call('HDEL', meta, 'wants:' .. ARGV[i]) end
end
-- Last, so that a run that failed on a damaged stock is not taken for done.
redis.call('HSET', meta, 'version', version)
return {APPLIED}
