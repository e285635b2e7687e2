-- The flushes since one was told last.
--
-- KEYS: the number of the last flush; the last flushes, by their numbers.
-- ARGV: the number of the flush after which to begin; `-` for the last number alone.
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
if ARGV[1] == '-' then
    return {last, {}}
end
return {last, redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf')}
