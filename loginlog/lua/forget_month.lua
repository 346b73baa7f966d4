-- KEYS: months. ARGV: member, how often its bitmaps had been changed. Takes it out unless they were changed since.
local changes = redis.call('ZSCORE', KEYS[1], ARGV[1])
if changes and tonumber(changes) == tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
