-- KEYS[1] the marks, KEYS[2] the errors; ARGV item, version, error, ...: sets aside what still has this version. Its
-- mark stays, with the version below zero, where no flusher looks until it is written or tried again.
for i = 1, #ARGV, 3 do
  local version = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if version and math.abs(tonumber(version)) == math.abs(tonumber(ARGV[i + 1])) then
    redis.call('ZADD', KEYS[1], string.format('%.0f', -math.abs(tonumber(version))), ARGV[i])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 2])
  end
end
