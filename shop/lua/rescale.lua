-- Halves "viewed:" once for every period that has passed, after trimming it in slices. Any number of callers is safe.
-- KEYS: viewed:, its period. ARGV: seconds per period, books to keep, books to trim per call, smallest score to keep.
-- Returns {periods halved, books removed, 1 if more books must be trimmed first}.
local now = math.floor(redis.call('TIME')[1] / tonumber(ARGV[1]))
local period = tonumber(redis.call('GET', KEYS[2]))
if not period then
  redis.call('SET', KEYS[2], now)
  return {0, 0, 0}
end
local missed = now - period
if missed <= 0 then
  return {0, 0, 0}
end
local keep, slice = tonumber(ARGV[2]), tonumber(ARGV[3])
local surplus = redis.call('ZCARD', KEYS[1]) - keep
local removed = 0
if surplus > 0 then
  removed = redis.call('ZREMRANGEBYRANK', KEYS[1], keep, keep + slice - 1)
  if surplus > slice then
    return {0, removed, 1}
  end
end
redis.call('ZUNIONSTORE', KEYS[1], 1, KEYS[1], 'WEIGHTS', string.format('%.17g', 0.5 ^ missed))
removed = removed + redis.call('ZREMRANGEBYSCORE', KEYS[1], '(-' .. ARGV[4], '+inf')
redis.call('SET', KEYS[2], now)
return {missed, removed, 0}
