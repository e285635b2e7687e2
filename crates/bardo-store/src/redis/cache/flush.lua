-- Removes entries that a set names, the first to expire first.
--
-- KEYS: the set.
-- ARGV: how many at most.
-- Answers how many names there were, and how many entries they had.
local names = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1)
local deleted = 0
for _, name in ipairs(names) do
    deleted = deleted + redis.call('DEL', name)
    redis.call('ZREM', KEYS[1], name)
end
return {#names, deleted}
