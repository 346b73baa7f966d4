-- Set a line of a basket, or remove it with quantity 0. Return the number of lines.
-- KEYS: basket, marks. ARGV: basket, line, quantity.
if not restored and redis.call('EXISTS', KEYS[1]) == 0 then
  return COLD
end
if ARGV[3] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[2])
else
  redis.call('HSET', KEYS[1], ARGV[2], ARGV[3])
end
mark(KEYS[2], ARGV[1])
local version = redis.call('ZSCORE', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'version', string.format('%.0f', tonumber(version)))
return redis.call('HLEN', KEYS[1]) - 1
