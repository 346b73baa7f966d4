-- Takes rows to a window. KEYS: the window, the set of those whose rows it shows, the set of those whose it does not.
-- ARGV[1]: how many rows a window holds. Then three for each row: its id, whose it is ('': the sets are not asked), and
-- '1' if it belongs there, '0' if it is to be taken away.
-- Returns 1 if the window was there. What is no sorted set is as good as cold: verify tells.
local window, length = KEYS[1], tonumber(ARGV[1])
local sentinel = redis.pcall('ZSCORE', window, '0')
if type(sentinel) ~= 'string' then
  return 0
end

-- A ZADD or ZREM that changes nothing would break nobody's WATCH, and somebody may be writing what was read before.
local function touch(id, stays)
  if stays then
    redis.call('ZREM', window, id)
    redis.call('ZADD', window, id, id)
  else
    redis.call('ZADD', window, id, id)
    redis.call('ZREM', window, id)
  end
end

local cut, floor, added, removed = sentinel == '-1', nil, 0, 0
if cut then
  floor = tonumber(redis.call('ZRANGE', window, 1, 1)[1])
end
for a = 2, #ARGV, 3 do
  local id, source = ARGV[a], ARGV[a + 1]
  if ARGV[a + 2] == '0' then
    if redis.call('ZREM', window, id) == 0 then
      touch(id, false)
    else
      removed = removed + 1
    end
  elseif source == '' or (redis.pcall('SISMEMBER', KEYS[2], source) == 1
      and redis.pcall('SISMEMBER', KEYS[3], source) == 0) then
    if cut and (not floor or tonumber(id) < floor) then
      touch(id, false) -- there may be others between it and what is here
    elseif redis.call('ZADD', window, id, id) == 0 then
      touch(id, true)
    else
      added = added + 1
    end
  end
end
if added > 0 and redis.call('ZREMRANGEBYRANK', window, 1, -length - 1) > 0 and sentinel == '0' then
  redis.call('ZADD', window, -1, '0')
end
if cut and removed > 0 and redis.call('ZCARD', window) == 1 then
  redis.call('DEL', window) -- it knows of nothing any more: the next reader has it made
end
return 1
