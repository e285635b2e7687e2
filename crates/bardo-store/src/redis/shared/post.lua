-- Adds a message to a channel.
--
-- KEYS: the number of the last message; the last messages, by their numbers.
-- ARGV: how many are kept; for how long after the last one, in milliseconds; the message.
local number = redis.call('INCR', KEYS[1])
redis.call('ZADD', KEYS[2], number, number .. ':' .. ARGV[3])
redis.call('ZREMRANGEBYRANK', KEYS[2], 0, -1 - tonumber(ARGV[1]))
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return number
