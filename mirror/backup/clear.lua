-- Clear the marks that still have these versions. Return their number.
-- KEYS: marks, errors of quarantined items. ARGV: item, version, ...
local cleared = 0
local errors = redis.call('EXISTS', KEYS[2]) == 1
for i = 1, #ARGV, 2 do
  local version = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if version and math.abs(tonumber(version)) == math.abs(tonumber(ARGV[i + 1])) then
    cleared = cleared + redis.call('ZREM', KEYS[1], ARGV[i])
    if errors then
      redis.call('HDEL', KEYS[2], ARGV[i])
    end
  end
end
return cleared
