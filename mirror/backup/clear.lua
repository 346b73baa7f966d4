-- KEYS[1] the marks; ARGV item, version, item, version, ...: clears the marks whose version is still this one.
-- Returns how many.
local cleared = 0
for i = 1, #ARGV, 2 do
  local version = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if version and tonumber(version) == tonumber(ARGV[i + 1]) then
    cleared = cleared + redis.call('ZREM', KEYS[1], ARGV[i])
  end
end
return cleared
