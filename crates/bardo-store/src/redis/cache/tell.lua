-- Keeps the order of a flush for other processes.
--
-- KEYS: the number of the last flush; the last flushes, by their numbers.
-- ARGV: how many are kept; the order.
-- Answers the number of this flush, and its mark as `news.lua` makes it.
local number = redis.call('INCR', KEYS[1])
local order = number .. ':' .. ARGV[2]
redis.call('ZADD', KEYS[2], number, order)
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - tonumber(ARGV[1]))
return {number, string.sub(redis.sha1hex(order), 1, 16)}
