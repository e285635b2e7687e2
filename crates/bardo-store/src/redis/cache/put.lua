-- Keeps an entry, and its name in the sets that flushes look into.
--
-- KEYS: the number of the last flush; the entry; its sets.
-- ARGV: how long it may be kept, in milliseconds; its value; the number of the last flush that its
-- process knows. After a later one nothing is kept: it may have been meant for the entry.
-- Sets hold names by the time of their expiry. They live as long as their youngest name at least,
-- and lose the names that expired.
if tonumber(redis.call('GET', KEYS[1]) or '0') ~= tonumber(ARGV[3]) then
    return
end
local left = tonumber(ARGV[1])
redis.call('SET', KEYS[2], ARGV[2], 'PX', left)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for i = 3, #KEYS do
    redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
    redis.call('ZADD', KEYS[i], now + left, KEYS[2])
    if redis.call('PTTL', KEYS[i]) < left then
        redis.call('PEXPIRE', KEYS[i], left)
    end
end
