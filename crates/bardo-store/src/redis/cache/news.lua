-- The flushes since one was told last.
--
-- KEYS: the number of the last flush; the last flushes, by their numbers.
-- ARGV: the number of the flush after which to begin, `-` for the last one alone; the number of a
-- flush that the caller told.
-- Answers the number and the mark of the last flush, the mark of the one after which to begin, that
-- of the one that the caller told, and the flushes. A mark is a digest of the order, which is
-- random; 0 for a flush that is not there.
local function mark(orders)
    return orders[1] and string.sub(redis.sha1hex(orders[1]), 1, 16) or string.rep('0', 16)
end
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local newest = mark(redis.call('ZREVRANGE', KEYS[2], 0, 0))
local told = mark(redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[2], ARGV[2]))
if ARGV[1] == '-' then
    return {last, newest, mark({}), told, {}}
end
local known = mark(redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[1], ARGV[1]))
return {last, newest, known, told, redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf')}
