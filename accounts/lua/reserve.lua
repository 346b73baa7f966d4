-- Add one to every counter, or to none if one of them is full.
-- KEYS: the counters. ARGV, four per counter: allowed number, period in milliseconds, count in SQL, milliseconds until
-- that count expires. Returns 0, or the milliseconds until no counter is full.
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
    -- The period starts with the first attempt, and again with the one that fills the counter, for a full lock-out.
    if count == 1 or count == tonumber(ARGV[4 * i - 3]) then
        redis.call("PEXPIRE", key, ARGV[4 * i - 2])
    end
end
return 0
