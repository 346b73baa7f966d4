-- Restore a basket from SQL, unless Redis has a newer version.
-- KEYS: basket. ARGV: version, line, quantity, ...
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or 0)
if version < tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'version', unpack(ARGV))
end
