-- KEYS: the cart, its state, the marks. ARGV: digest, the version that SQL has. Removes a cart that is over. Returns 1;
-- 0: it is newer, or marked, and stays until SQL has what it says.
local version = redis.call('HGET', KEYS[2], 'version')
if version and (tonumber(version) > tonumber(ARGV[2]) or redis.call('ZSCORE', KEYS[3], ARGV[1])) then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
return 1
