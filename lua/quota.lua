-- Tells a shard its quotas and moves each stock by the difference, if the ledger's version is newer.
-- So one script serves the first load, more units, moves between shards and repair, and none of them
-- can overwrite what was sold meanwhile. An item without a quota has had 0.
--
-- KEYS  1 meta  2 stock
-- ARGV  1 version  2 load (1: may load a shard that has no marker)  3… for each item: itemId quota
--
-- outcome
--  1 applied
--  2 stale        the shard has this version or a newer one
--  3 not loaded   no marker and no permission to load, nothing written
--
-- clock: Redis TIME dates the marker.

local APPLIED, STALE, NOT_LOADED = 1, 2, 3

local meta, stock = KEYS[1], KEYS[2]
local version, mayLoad = ARGV[1], ARGV[2] == '1'
local FIRST, STEP = 3, 2

local m = redis.call('HMGET', meta, 'loaded', 'version')
local loaded, current = m[1], m[2]
-- A key of a wrong type fails here, before anything is written.
redis.call('HLEN', stock)

if not loaded and not mayLoad then return {NOT_LOADED} end
if loaded and tonumber(version) <= (tonumber(current) or 0) then return {STALE} end
if not loaded then
  local time = redis.call('TIME')
  redis.call('HSET', meta, 'loaded',
    string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)))
end
for i = FIRST, #ARGV, STEP do
  local field, quota = 'quota:' .. ARGV[i], tonumber(ARGV[i + 1])
  local old = tonumber(redis.call('HGET', meta, field)) or 0
  redis.call('HINCRBY', stock, ARGV[i], string.format('%.0f', quota - old))
  redis.call('HSET', meta, field, string.format('%.0f', quota))
end
-- Last, so that a run that failed on a damaged stock is not taken for done.
redis.call('HSET', meta, 'version', version)
return {APPLIED}
