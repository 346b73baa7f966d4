-- What Redis counted before it was lost cannot be believed: "viewed:" counts anew from this moment on.
-- KEYS: viewed:, the period, since when it counts, whether it is whole. ARGV: how many seconds a period has, a token.
-- Returns {microseconds since 1970, the period}.
local clock = redis.call('TIME')
local micros = string.format('%d%06d', clock[1], clock[2])
local period = math.floor(clock[1] / tonumber(ARGV[1]))
redis.call('UNLINK', KEYS[1], KEYS[4])
redis.call('SET', KEYS[2], period)
redis.call('SET', KEYS[3], ARGV[2])
return {micros, period}
