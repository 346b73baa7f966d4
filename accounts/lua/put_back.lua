-- KEYS[1] recent:. ARGV: time, digest, time, digest, ...: as SQL remembers them. What Redis has and is newer stays,
-- and what is being removed (0) is not brought back.
for i = 1, #ARGV, 2 do
  local now = redis.call('ZSCORE', KEYS[1], ARGV[i + 1])
  if not now or (tonumber(now) ~= 0 and tonumber(now) < tonumber(ARGV[i])) then
    redis.call('ZADD', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
