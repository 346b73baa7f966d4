-- Count one event under a rate limit. KEYS: the counter. ARGV: allowed number, period in milliseconds.
-- Returns 0 if the event is allowed, else the milliseconds until the next one is.
local count = redis.call("INCR", KEYS[1])
if count == 1 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
if count <= tonumber(ARGV[1]) then
    return 0
end
return math.max(redis.call("PTTL", KEYS[1]), 1)
