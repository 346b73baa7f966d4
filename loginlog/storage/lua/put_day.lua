-- Merges a segment of a bitmap of dense ids from SQL. KEYS: the bitmap, population, erased, months, two temporary keys.
-- ARGV: offset in bytes, bytes, minimum length of the bitmap in bytes, member of months ("": none).
-- ORs bits of dense ids that were not erased; marks nothing. Returns whether a bit was new.
local offset, bytes, least = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local function part(key)
  local found = redis.call('GETRANGE', key, offset, offset + #bytes - 1)
  return found .. string.rep('\0', #bytes - #found)
end
local had = part(KEYS[1])
redis.call('SET', KEYS[5], part(KEYS[3]))
redis.call('BITOP', 'NOT', KEYS[5], KEYS[5])
redis.call('SET', KEYS[6], bytes)
redis.call('BITOP', 'AND', KEYS[6], KEYS[6], KEYS[5])
redis.call('SET', KEYS[5], had)
redis.call('BITOP', 'OR', KEYS[6], KEYS[6], KEYS[5])
local has = redis.call('GET', KEYS[6])
redis.call('DEL', KEYS[5], KEYS[6])
if has == had then
  return 0
end
local all = math.max(least, redis.call('STRLEN', KEYS[2]))
if redis.call('STRLEN', KEYS[1]) < all then
  redis.call('SETBIT', KEYS[1], all * 8 - 1, 0)
end
redis.call('SETRANGE', KEYS[1], offset, has)
if ARGV[4] ~= '' then
  redis.call('ZINCRBY', KEYS[4], 1, ARGV[4])
end
return 1
