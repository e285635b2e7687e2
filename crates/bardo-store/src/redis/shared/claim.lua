-- Keeps a value where its name has none, and a lease with it.
--
-- KEYS: the name; its lease.
-- ARGV: token; how long the value may be kept, how long the lease lasts, both in milliseconds; value.
-- Answers the value that was there before and whether its lease lasts; nothing where there was none.
local found = redis.call('GET', KEYS[1])
if found then
    return {found, redis.call('EXISTS', KEYS[2])}
end
redis.call('SET', KEYS[1], ARGV[1] .. ARGV[4], 'PX', ARGV[2])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return {}
