-- KEYS: months. ARGV: member, its known number of modifications. Removes the member unless the number has changed.
local changes = redis.call('ZSCORE', KEYS[1], ARGV[1])
if changes and tonumber(changes) == tonumber(ARGV[2]) then
  return redis.call('ZREM', KEYS[1], ARGV[1])
end
return 0
