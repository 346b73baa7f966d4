-- Quarantine the items that still have these versions. Their marks stay with negative versions, which flushes skip
-- until the item is written or retried.
-- KEYS: marks, errors. ARGV: item, version, error, ...
for i = 1, #ARGV, 3 do
  local version = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if version and math.abs(tonumber(version)) == math.abs(tonumber(ARGV[i + 1])) then
    redis.call('ZADD', KEYS[1], string.format('%.0f', -math.abs(tonumber(version))), ARGV[i])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 2])
  end
end
