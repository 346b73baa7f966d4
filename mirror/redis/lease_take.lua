-- Take or renew a lease. Return 1 if the owner has it now, else 0.
-- KEYS: lease. ARGV: owner, milliseconds.
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
