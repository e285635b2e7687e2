-- Changes what a claimant holds: its value, its lease, or both. A claimant whose value was replaced
-- or has expired changes nothing.
--
-- KEYS: the name; its lease.
-- ARGV: token; how long the value may be kept, or 0: its value stays, or -1: it goes; how long the
-- lease lasts, or 0: it ends; value.
-- Answers 1 where the name was still held.
local keep = tonumber(ARGV[2])
local found = redis.call('GETRANGE', KEYS[1], 0, 15)
if found ~= ARGV[1] then
    return 0
end
if keep > 0 then
    redis.call('SET', KEYS[1], ARGV[1] .. ARGV[4], 'PX', keep)
elseif keep < 0 then
    redis.call('DEL', KEYS[1])
end
if tonumber(ARGV[3]) > 0 then
    redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
else
    redis.call('DEL', KEYS[2])
end
return 1
