-- KEYS: the cart, its state, the marks. ARGV: digest, the version that SQL has ("": whatever it is). Removes a cart that
-- is over, and its mark. Returns 1; 0: it has been changed since, and stays until SQL has that too.
local version = redis.call('HGET', KEYS[2], 'version')
if version and ARGV[2] ~= '' and tonumber(version) > tonumber(ARGV[2]) then
  return 0
end
redis.call('DEL', KEYS[1], KEYS[2])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
