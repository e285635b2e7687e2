-- Puts right what was taken on account when a request was let in.
--
-- KEYS: the rates of the identity; the hour of its account, or its own.
-- ARGV: now in Unix milliseconds, or -1 for this server's clock; tokens per minute, -1 where there
-- is no such limit; when they were taken; how many were taken and how many were used; 1 where they
-- count for the hour.
local now, tpm, taken_at = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local reserved, used, counts = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local MINUTE, HOUR, SET_BACK = 60000, 3600000, 1000
if now < 0 then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function text(number) return string.format('%.0f', number) end

if tpm >= 0 then
    local kept = redis.call('HMGET', KEYS[1], 'tl', 'tv', 'ta')
    local level, at = tpm * MINUTE, now
    if kept[2] then
        local old = tonumber(kept[1])
        level, at = tonumber(kept[2]), tonumber(kept[3])
        if now >= at then
            level, at = level + (now - at) * old, now
        elseif at - now > SET_BACK then
            at = now
        end
        level = math.min(level, old * MINUTE, tpm * MINUTE)
    end
    level = math.min(level + (reserved - used) * MINUTE, tpm * MINUTE)
    redis.call('HSET', KEYS[1], 'tl', text(tpm), 'tv', text(level), 'ta', text(at))
    local full = math.ceil((tpm * MINUTE - level) / math.max(tpm, 1))
    if full + MINUTE > redis.call('PTTL', KEYS[1]) then
        redis.call('PEXPIRE', KEYS[1], text(math.min(full + MINUTE, 168 * HOUR)))
    end
end

local kept = redis.call('HMGET', KEYS[2], 'h', 'u')
if counts and kept[1] then
    local this = math.floor(now / HOUR)
    local hour, sum = tonumber(kept[1]), tonumber(kept[2])
    if this > hour or this + 1 < hour then hour, sum = this, 0 end
    -- What was taken in an hour that is over is over with it.
    if math.floor(taken_at / HOUR) == hour then sum = math.max(sum - reserved, 0) + used end
    redis.call('HSET', KEYS[2], 'h', text(hour), 'u', text(sum))
end
return {}
