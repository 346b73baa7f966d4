-- Takes rows that are due: until the claim runs out nobody else does. Whoever dies after that delays them, no more.
-- KEYS: schedule:. ARGV: how many at most, for how many seconds.
-- Returns {the time, what the claimed are scored with, ids ...}.
local clock = redis.call('TIME')
local now = string.format('%d.%06d', clock[1], clock[2])
local held = string.format('%.6f', tonumber(now) + tonumber(ARGV[2]))
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for i = 1, #ids do
  redis.call('ZADD', KEYS[1], 'XX', held, ids[i])
end
return {now, held, unpack(ids)}
