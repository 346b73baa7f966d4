-- Merges a month of a user from SQL by OR; marks nothing. KEYS: month bitmap, erased, months.
-- ARGV: the user's dense id, four bytes, member of months. Returns whether a bit was new.
if redis.call('GETBIT', KEYS[2], ARGV[1]) == 1 then
  return 0
end
local had = redis.call('GETRANGE', KEYS[1], 0, 3)
local bytes = {}
for i = 1, 4 do
  bytes[i] = string.char(bit.bor(string.byte(had, i) or 0, string.byte(ARGV[2], i)))
end
local has = table.concat(bytes)
if has == had then
  return 0
end
redis.call('SETRANGE', KEYS[1], 0, has)
redis.call('ZINCRBY', KEYS[3], 1, ARGV[3])
return 1
