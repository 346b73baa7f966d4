-- Restore last-seen times from SQL. KEYS[1]: recent:. ARGV: time, digest, time, digest, ...
-- A newer time in Redis stays, and so does score 0, which marks a session that is being removed.
for i = 1, #ARGV, 2 do
  local now = redis.call('ZSCORE', KEYS[1], ARGV[i + 1])
  if not now or (tonumber(now) ~= 0 and tonumber(now) < tonumber(ARGV[i])) then
    redis.call('ZADD', KEYS[1], ARGV[i], ARGV[i + 1])
  end
end
