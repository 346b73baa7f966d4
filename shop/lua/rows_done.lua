-- Says when claimed rows are due next; what was scheduled anew meanwhile, or taken away, stays as it is.
-- KEYS: schedule:. ARGV: what they were scored with when they were claimed, then id, seconds, id, seconds, ...
-- (0: never again).
local clock = redis.call('TIME')
local held = tonumber(ARGV[1])
for i = 2, #ARGV, 2 do
  local score, delay = redis.call('ZSCORE', KEYS[1], ARGV[i]), tonumber(ARGV[i + 1])
  if score and tonumber(score) == held then
    if delay > 0 then
      redis.call('ZADD', KEYS[1], string.format('%.6f', clock[1] + clock[2] / 1000000 + delay), ARGV[i])
    else
      redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end
end
