-- KEYS[1] a basket; ARGV version, line, quantity, ...: as SQL has it. A newer one stays.
local version = tonumber(redis.call('HGET', KEYS[1], 'version') or 0)
if version < tonumber(ARGV[1]) then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'version', unpack(ARGV))
end
