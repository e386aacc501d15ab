-- Gives one environment the task to fill a shard's winners' filter, if there is none that is good. The filter
-- is made zeroed first, so whoever wins from now on sets the own bits, and the environment reads the holds
-- only then: together they miss nobody. fill.lua ends the task; one whose lease is over is given away again.
--
-- The filter is a string, a header and the bits of a Bloom filter:
--    0       F while it is being filled, C when it is complete
--    1 - 15  token of the environment that fills it
--   16 - 31  end of the lease (ms), 16 digits
--   32 - 47  how many shoppers scripts have added since it was made, 16 digits
--   48 - 63  SHA-1 of these 16 characters before and the shopper added last, 16 hex digits: equal headers are
--            equal filters, also after a failover that has lost some
--   64 …     bits; a shopper's are seven, each 5 hex digits of SHA-1(userId) modulo their number
-- It may name shoppers whose hold is gone. It must never miss one who has a hold.
--
-- KEYS  1 meta  2 winners
-- ARGV  1 token (15 characters)  2 size (bytes of bits)  3 limit (of shoppers added; beyond it is made anew)
--       4 lease (ms)
--
-- outcome
--  1 granted      a zeroed filter is there, to be filled by the caller
--  2 being filled by somebody else
--  3 complete
--  4 not loaded   no marker, nothing written
--
-- clock: Redis TIME ends leases.

local GRANTED, BEING_FILLED, COMPLETE, NOT_LOADED = 1, 2, 3, 4

local meta, winners = KEYS[1], KEYS[2]
local token, size, limit, lease = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local HEADER = 64

if not redis.call('HGET', meta, 'loaded') then return {NOT_LOADED} end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- A smaller one is made anew when the sale has got more units; a larger one is as good.
local large = redis.call('STRLEN', winners) >= HEADER + size
local header = redis.call('GETRANGE', winners, 0, HEADER - 1)
local state = string.match(header, '^[FC]')
local till, added = tonumber(string.sub(header, 17, 32)), tonumber(string.sub(header, 33, 48))
if large and state == 'C' and added and added <= limit then return {COMPLETE} end
-- A lease that ends later than any can was given by a clock that is ahead of this one, as before a failover.
if large and state == 'F' and till and now < till and till <= now + lease then return {BEING_FILLED} end

redis.call('SET', winners, 'F' .. token .. string.format('%016.0f', now + lease) .. string.rep('0', 32))
redis.call('SETRANGE', winners, HEADER + size - 1, '\0')
return {GRANTED}
