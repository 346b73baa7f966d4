-- Logins of one day and type. KEYS: day bitmap, population, erased, months, marks, then each user's month bitmap.
-- ARGV: day of the month, start of the month's items, start of the day's items, member of months, bytes that a bitmap
-- of days has at least for these numbers; then each user's number and id.
-- Returns for each user 1 (new), 0 (known already) or -1 (the number was erased).
local day, all = ARGV[1], nil
local replies, marked, changes = {}, {}, 0

-- Bitmaps of equal length are OR-ed many times faster: every day is made as long as the population.
local function lengthen(key, length)
  if redis.call('STRLEN', key) < length then
    redis.call('SETBIT', key, length * 8 - 1, 0)
  end
end

for i = 6, #KEYS do
  local number, user = ARGV[2 * i - 6], ARGV[2 * i - 5]
  if redis.call('GETBIT', KEYS[3], number) == 1 then
    replies[i - 5] = -1
  else
    -- Asked before it is set: on Redis 6.2 setting a bit that is set counts as a change.
    local new_in_month = redis.call('GETBIT', KEYS[i], day) == 0
    local new_in_day = redis.call('GETBIT', KEYS[1], number) == 0
    if new_in_month then
      redis.call('SETBIT', KEYS[i], day, 1)
      mark(KEYS[5], ARGV[2] .. user)
    end
    if new_in_day then
      if not all then
        lengthen(KEYS[2], tonumber(ARGV[5]))
        all = redis.call('STRLEN', KEYS[2])
        lengthen(KEYS[1], all)
      end
      redis.call('SETBIT', KEYS[2], number, 1)
      redis.call('SETBIT', KEYS[1], number, 1)
      local segment = math.floor(number / 65536)
      if not marked[segment] then
        mark(KEYS[5], string.format('%s%d', ARGV[3], segment))
        marked[segment] = true
      end
    end
    replies[i - 5] = (new_in_month or new_in_day) and 1 or 0
    changes = changes + replies[i - 5]
  end
end
if changes > 0 then
  redis.call('ZINCRBY', KEYS[4], changes, ARGV[4])
end
return replies
