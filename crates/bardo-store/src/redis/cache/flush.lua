-- Removes entries that a set names, the first to expire first.
--
-- KEYS: the set.
-- ARGV: how many at most.
-- Answers how many names there were, and how many entries they had.
-- Something else with the name of a set names no entries, and would fail each flush.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'zset' and kind ~= 'none' then
    redis.call('DEL', KEYS[1])
end
local names = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1)
local deleted = 0
for _, name in ipairs(names) do
    deleted = deleted + redis.call('DEL', name)
    redis.call('ZREM', KEYS[1], name)
end
return {#names, deleted}
