-- Keeps the order of a flush for other processes.
--
-- KEYS: the number of the last flush; the last flushes, by their numbers.
-- ARGV: how many are kept; the order.
local number = redis.call('INCR', KEYS[1])
redis.call('ZADD', KEYS[2], number, number .. ':' .. ARGV[2])
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - tonumber(ARGV[1]))
return number
