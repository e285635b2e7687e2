-- Removes entries that a set names, the first to expire first.
--
-- KEYS: the set.
-- ARGV: how many at most; `1` where all entries were removed since something else with the name of
-- the set was found, so that it can go.
-- Answers how many names there were, how many entries they had, and 1 where something else has the
-- name of the set: nobody knows which entries the set named.
local kind = redis.call('TYPE', KEYS[1]).ok
if kind ~= 'zset' and kind ~= 'none' then
    if ARGV[2] == '1' then
        redis.call('DEL', KEYS[1])
        return {0, 0, 0}
    end
    return {0, 0, 1}
end
local names = redis.call('ZRANGE', KEYS[1], 0, tonumber(ARGV[1]) - 1)
local deleted = 0
for _, name in ipairs(names) do
    deleted = deleted + redis.call('DEL', name)
    redis.call('ZREM', KEYS[1], name)
end
return {#names, deleted, 0}
