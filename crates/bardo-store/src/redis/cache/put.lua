-- Keeps an entry, and its name in the sets that flushes look into.
--
-- KEYS: the number of the last flush; the last flushes, by their numbers; the entry; its sets.
-- ARGV: how long it may be kept, in milliseconds; its value; the number and the mark of the last flush
-- that its process knows. After another one nothing is kept: it may have been meant for the entry.
-- Sets hold names by the time of their expiry. They live as long as their youngest name at least,
-- and lose the names that expired.
if tonumber(redis.call('GET', KEYS[1]) or '0') ~= tonumber(ARGV[3]) then
    return
end
local orders = redis.call('ZREVRANGE', KEYS[2], 0, 0)
local mark = orders[1] and string.sub(redis.sha1hex(orders[1]), 1, 16) or string.rep('0', 16)
if mark ~= ARGV[4] then
    return
end
-- Where something else has the name of a set, no flush would find the entry.
for i = 4, #KEYS do
    local kind = redis.call('TYPE', KEYS[i]).ok
    if kind ~= 'zset' and kind ~= 'none' then
        return redis.error_reply('ERR ' .. KEYS[i] .. ' is a ' .. kind)
    end
end
local left = tonumber(ARGV[1])
redis.call('SET', KEYS[3], ARGV[2], 'PX', left)
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
for i = 4, #KEYS do
    redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
    redis.call('ZADD', KEYS[i], now + left, KEYS[3])
    if redis.call('PTTL', KEYS[i]) < left then
        redis.call('PEXPIRE', KEYS[i], left)
    end
end
