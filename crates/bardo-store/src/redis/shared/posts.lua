-- The messages of a channel since one was read last.
--
-- KEYS: the number of the last message; the last messages, by their numbers.
-- ARGV: the number of the message after which to begin; `-` for the last number alone.
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
if ARGV[1] == '-' then
    return {last, {}}
end
return {last, redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf')}
