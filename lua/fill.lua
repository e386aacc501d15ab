-- Ends what winners.lua began: sets the bits of the holds that the caller has read since, beside those that
-- scripts have set meanwhile, and calls the filter complete.
--
-- KEYS  1 meta  2 winners  3 fill (scratch)
-- ARGV  1 token (as winners.lua took it)  2 bits (bytes)
--
-- outcome
--  1 complete
--  2 not yours    the filter was dropped, made anew or is complete: another one misses holds that these bits
--                 do not have. Also without the marker. Nothing is written
--
-- clock: none.

local COMPLETE, NOT_YOURS = 1, 2

local meta, winners, fill = KEYS[1], KEYS[2], KEYS[3]
local token, bits = ARGV[1], ARGV[2]
local HEADER = 64

local loaded = redis.call('HGET', meta, 'loaded')
if not loaded or redis.call('GETRANGE', winners, 0, 15) ~= 'F' .. token then return {NOT_YOURS} end

redis.call('SET', fill, string.rep('\0', HEADER) .. bits)
redis.call('BITOP', 'OR', winners, winners, fill)
redis.call('DEL', fill)
redis.call('SETRANGE', winners, 0, 'C')
return {COMPLETE}
