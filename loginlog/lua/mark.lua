-- One login. KEYS: month bitmap, day bitmap, population, erased, months, marks.
-- ARGV: day of the month, number, the month's item, the day's item, member of months, bytes that a bitmap of days
-- has at least for this number. Returns 1 (new), 0 (known already) or -1 (the number was erased).
local day, number = ARGV[1], ARGV[2]
if redis.call('GETBIT', KEYS[4], number) == 1 then
  return -1
end
local new_in_month = redis.call('SETBIT', KEYS[1], day, 1) == 0
local new_in_day = redis.call('GETBIT', KEYS[2], number) == 0
if not new_in_month and not new_in_day then
  return 0
end
if new_in_day then
  -- Bitmaps of equal length are OR-ed many times faster: every day is made as long as the population.
  local least, all = tonumber(ARGV[6]), redis.call('STRLEN', KEYS[3])
  if all < least then
    redis.call('SETBIT', KEYS[3], least * 8 - 1, 0)
    all = least
  end
  redis.call('SETBIT', KEYS[3], number, 1)
  if redis.call('STRLEN', KEYS[2]) < all then
    redis.call('SETBIT', KEYS[2], all * 8 - 1, 0)
  end
  redis.call('SETBIT', KEYS[2], number, 1)
  mark(KEYS[6], ARGV[4])
end
if new_in_month then
  mark(KEYS[6], ARGV[3])
end
redis.call('ZINCRBY', KEYS[5], 1, ARGV[5])
return 1
