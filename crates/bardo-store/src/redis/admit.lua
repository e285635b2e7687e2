-- Lets a request in or says when it can come, as the limits of one process do: two buckets that
-- hold a minute's worth each and the tokens of an hour. One call is one atomic step.
--
-- KEYS: the rates of the identity; the hour of its account, or its own.
-- ARGV: now in Unix milliseconds, or -1 for this server's clock; requests per minute, tokens per
-- minute and tokens per hour, -1 where there is no such limit; 1 where the hour may be exceeded;
-- the tokens it will use at most.
-- Answers what refused it (0 nothing, 1 requests, 2 tokens, 3 the hour) and for how long; what is
-- left of the requests and when they are full; the same of the tokens; what is left of the hour;
-- the tokens that were taken on account.
local now, rpm, tpm = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local allowance, overage, tokens = tonumber(ARGV[4]), ARGV[5] == '1', tonumber(ARGV[6])
local MINUTE, HOUR, SET_BACK = 60000, 3600000, 1000
if now < 0 then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function text(number) return string.format('%.0f', number) end

-- A bucket of a limit, filled until now; a new one is full. Levels are 1/60,000 of a unit.
local function bucket(limit, old, level, at)
    if not level then return limit * MINUTE, now end
    old, level, at = tonumber(old), tonumber(level), tonumber(at)
    if now >= at then
        level, at = level + (now - at) * old, now
    elseif at - now > SET_BACK then
        at = now
    end
    return math.min(level, old * MINUTE, limit * MINUTE), at
end

local function time_for(missing, limit)
    if missing <= 0 then return 0 end
    return math.ceil(missing / math.max(limit, 1))
end

local function wait(limit, level, amount)
    if limit == 0 then return MINUTE end
    return time_for(amount * MINUTE - level, limit)
end

local reserved = tokens
if tpm >= 0 then reserved = math.min(tokens, tpm) end
local rates = redis.call('HMGET', KEYS[1], 'rl', 'rv', 'ra', 'tl', 'tv', 'ta')
local r_level, r_at, t_level, t_at
local refused, longest = 0, 0
local function refuse(limit, time)
    if time > 0 and time >= longest then refused, longest = limit, time end
end
if rpm >= 0 then
    r_level, r_at = bucket(rpm, rates[1], rates[2], rates[3])
    refuse(1, wait(rpm, r_level, 1))
end
if tpm >= 0 then
    t_level, t_at = bucket(tpm, rates[4], rates[5], rates[6])
    refuse(2, wait(tpm, t_level, reserved))
end
local hour, used
if allowance >= 0 then
    local this = math.floor(now / HOUR)
    local kept = redis.call('HMGET', KEYS[2], 'h', 'u')
    hour, used = tonumber(kept[1] or this), tonumber(kept[2] or 0)
    -- A time of the hour before counts here: clocks may step over the full hour.
    if this > hour or this + 1 < hour then hour, used = this, 0 end
    if not overage and used >= allowance then
        refuse(3, math.max((hour + 1) * HOUR - now, 0))
    end
end

if refused == 0 then
    if rpm >= 0 then r_level = r_level - MINUTE end
    if tpm >= 0 then t_level = t_level - reserved * MINUTE end
    if allowance >= 0 then used = used + reserved end
else
    reserved = 0
end

local r_left, r_full, t_left, t_full, left = -1, -1, -1, -1, -1
local fields = {}
if rpm >= 0 then
    r_left, r_full = math.floor(math.max(r_level, 0) / MINUTE), time_for(rpm * MINUTE - r_level, rpm)
    fields = {'rl', text(rpm), 'rv', text(r_level), 'ra', text(r_at)}
end
if tpm >= 0 then
    t_left, t_full = math.floor(math.max(t_level, 0) / MINUTE), time_for(tpm * MINUTE - t_level, tpm)
    for _, field in ipairs({'tl', text(tpm), 'tv', text(t_level), 'ta', text(t_at)}) do
        table.insert(fields, field)
    end
end
if #fields > 0 then
    redis.call('HSET', KEYS[1], unpack(fields))
    -- A full bucket and none are the same. The bucket that was not asked for may be emptier.
    local keep = math.max(r_full, t_full) + MINUTE
    if keep > redis.call('PTTL', KEYS[1]) then
        redis.call('PEXPIRE', KEYS[1], text(math.min(keep, 168 * HOUR)))
    end
end
if allowance >= 0 then
    left = math.max(allowance - used, 0)
    redis.call('HSET', KEYS[2], 'h', text(hour), 'u', text(used))
    redis.call('PEXPIRE', KEYS[2], text(2 * HOUR))
end
return {refused, longest, r_left, r_full, t_left, t_full, left, reserved}
