-- One more of what is limited. KEYS: the counter. ARGV: how many are allowed, in how many milliseconds.
-- Returns 0 when it is allowed, else the milliseconds until the next one is.
local count = redis.call("INCR", KEYS[1])
if count == 1 then
    redis.call("PEXPIRE", KEYS[1], ARGV[2])
end
if count <= tonumber(ARGV[1]) then
    return 0
end
return math.max(redis.call("PTTL", KEYS[1]), 1)
