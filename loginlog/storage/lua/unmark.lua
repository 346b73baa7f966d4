-- Removes a login. KEYS: unmarked, then each type's month bitmap and day bitmap.
-- ARGV: field of unmarked, the removal's id (below zero: the day was marked again), day of the month, user's dense id.
-- Does nothing for an older or a lifted removal. Returns the number of cleared bits.
local known, removal = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0), tonumber(ARGV[2])
if math.abs(known) > math.abs(removal) or known == -math.abs(removal) then
  return 0
end
if known ~= removal then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', removal))
end
local cleared = 0
if removal > 0 then
  for i = 2, #KEYS do
    local bit = i % 2 == 0 and ARGV[3] or ARGV[4]
    if redis.call('GETBIT', KEYS[i], bit) == 1 then
      redis.call('SETBIT', KEYS[i], bit, 0)
      cleared = cleared + 1
    end
  end
end
return cleared
