-- Counts one more in every counter, or in none when one of them is full.
-- KEYS: the counters. ARGV, four for each: how many are allowed, in how many milliseconds, how many SQL knows of,
-- for how many milliseconds that is good. Returns 0, or the milliseconds until none is full any more.
local wait = 0
for i, key in ipairs(KEYS) do
    local allowed, known = tonumber(ARGV[4 * i - 3]), tonumber(ARGV[4 * i - 1])
    local count = tonumber(redis.call("GET", key) or 0)
    if count < known then
        redis.call("SET", key, known, "PX", ARGV[4 * i])
        count = known
    end
    if count >= allowed then
        wait = math.max(wait, redis.call("PTTL", key), 1)
    end
end
if wait > 0 then
    return wait
end
for i, key in ipairs(KEYS) do
    local count = redis.call("INCR", key)
    -- The time begins with the first, and anew with the last that is allowed: that is how long it stays full.
    if count == 1 or count == tonumber(ARGV[4 * i - 3]) then
        redis.call("PEXPIRE", key, ARGV[4 * i - 2])
    end
end
return 0
