-- Starts to count views from zero after Redis has lost data: the old counts cannot be trusted.
-- KEYS: viewed:, the period, the token of the rebuild, the marker of completeness. ARGV: seconds per period, a token.
-- Returns {microseconds since 1970, the period}.
local clock = redis.call('TIME')
local micros = string.format('%d%06d', clock[1], clock[2])
local period = math.floor(clock[1] / tonumber(ARGV[1]))
redis.call('UNLINK', KEYS[1], KEYS[4])
redis.call('SET', KEYS[2], period)
redis.call('SET', KEYS[3], ARGV[2])
return {micros, period}
