-- Removes an ended cart. KEYS: the cart, its state, the marks. ARGV: digest, SQL's version.
-- Returns 1 if it was removed, or 0 if it is newer or marked and must stay until it is flushed.
local version = redis.call('HGET', KEYS[2], 'version')
if version and (tonumber(version) > tonumber(ARGV[2]) or redis.call('ZSCORE', KEYS[3], ARGV[1])) then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
