-- Read the members of a sorted set that come after a place, which may be vacant, in O(log n + count).
-- KEYS[1]: the sorted set. ARGV: score and member of the place, number of members, "1" to read downwards.
-- Returns members and scores, alternating.
local key, score, member, count = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])

-- Compare texts byte by byte, because Lua's own comparison follows the server's locale.
local function is_before(one, other)
  for i = 1, math.min(#one, #other) do
    if one:byte(i) ~= other:byte(i) then
      return one:byte(i) < other:byte(i)
    end
  end
  return #one < #other
end

-- The number of members below the place: those with a lower score, and those of equal score with a lower text.
local low = redis.call('ZCOUNT', key, '-inf', '(' .. score)
local high = low + redis.call('ZCOUNT', key, score, score)
local last = high
while low < high do
  local middle = math.floor((low + high) / 2)
  if is_before(redis.call('ZRANGE', key, middle, middle)[1], member) then
    low = middle + 1
  else
    high = middle
  end
end

if ARGV[4] == '1' then
  if low == 0 then
    return {}
  end
  local rows = redis.call('ZRANGE', key, math.max(0, low - count), low - 1, 'WITHSCORES')
  local found = {}
  for i = #rows - 1, 1, -2 do
    found[#found + 1] = rows[i]
    found[#found + 1] = rows[i + 1]
  end
  return found
end
if low < last and redis.call('ZRANGE', key, low, low)[1] == member then
  low = low + 1
end
return redis.call('ZRANGE', key, low, low + count - 1, 'WITHSCORES')
