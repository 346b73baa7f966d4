-- Marks logins of one day and type. KEYS: day bitmap, population, erased, months, marks, unmarked, the backup's marker,
-- then each user's month bitmap. ARGV: day of the month, prefix of the month's items, prefix of the day's items, member
-- of months, minimum length in bytes of a day bitmap for these dense ids, the day, required prefix of the marker, "1"
-- if SQL was asked for removals; then each user's dense id, id, and the removal that this mark lifts (0: none).
-- Returns for each user 1 (new), 0 (known), -1 (the dense id was erased) or -2 (ask SQL whether this login was removed,
-- because it was, or because Redis may have lost the removal).
local day, all = ARGV[1], nil
local marker, asked = redis.call('GET', KEYS[7]), ARGV[8] == '1'
local sure = asked or (marker and string.sub(marker, 1, #ARGV[7]) == ARGV[7])
local removals = redis.call('EXISTS', KEYS[6]) == 1
local replies, marked, changes = {}, {}, 0

-- BITOP is many times faster on bitmaps of equal length, so every day gets the length of the population.
local function lengthen(key, length)
  if redis.call('STRLEN', key) < length then
    redis.call('SETBIT', key, length * 8 - 1, 0)
  end
end

-- Returns whether the login was removed by a removal that this mark does not lift.
local function is_removed(field, lifted)
  local known = removals and tonumber(redis.call('HGET', KEYS[6], field) or 0) or 0
  if lifted > 0 and lifted >= math.abs(known) then
    redis.call('HSET', KEYS[6], field, string.format('%.0f', -lifted))
    return false
  end
  return known > 0
end

for i = 8, #KEYS do
  local number, user, lifted = ARGV[3 * i - 15], ARGV[3 * i - 14], tonumber(ARGV[3 * i - 13])
  if redis.call('GETBIT', KEYS[3], number) == 1 then
    replies[i - 7] = -1
  elseif not sure or is_removed(number .. ':' .. ARGV[6], lifted) then
    replies[i - 7] = -2
  else
    -- Read before the write: on Redis 6.2 setting a set bit counts as a modification of the key.
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
    replies[i - 7] = (new_in_month or new_in_day) and 1 or 0
    changes = changes + replies[i - 7]
  end
end
if changes > 0 then
  redis.call('ZINCRBY', KEYS[4], changes, ARGV[4])
end
return replies
