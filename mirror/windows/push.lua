-- Deliver rows to a window. Return 1 if the window exists. A key of another type counts as cold; verify reports it.
-- KEYS: window, set of the authors to show, set of the authors to leave out; on a cluster also the fence of the window's
-- drains, and the claims.
-- ARGV: maximum number of rows in a window; then for each row: id, author ('': skip the sets), a second author ('': none),
-- '1' to add or '0' to remove it; on a cluster also the token of the claims. Without a claim, LOST is returned: another process has newer rows.
local window, length = KEYS[1], tonumber(ARGV[1])
local sentinel = redis.pcall('ZSCORE', window, '0')
if type(sentinel) ~= 'string' then
  return 0
end

local last = #ARGV
if KEYS[5] then
  for a = 2, last - 1, 4 do
    if redis.call('HGET', KEYS[5], ARGV[a]) ~= ARGV[last] then
      return redis.status_reply('LOST')
    end
  end
  redis.call('DEL', KEYS[4]) -- a drain that has read the window must start over
  last = last - 1
end

-- Modify the window without changing its content. A ZADD or ZREM without an effect would break no WATCH, and another
-- process may be about to write older rows.
local function touch(id, stays)
  if stays then
    redis.call('ZREM', window, id)
    redis.call('ZADD', window, id, id)
  else
    redis.call('ZADD', window, id, id)
    redis.call('ZREM', window, id)
  end
end

local function allows(author)
  return redis.pcall('SISMEMBER', KEYS[2], author) == 1 and redis.pcall('SISMEMBER', KEYS[3], author) == 0
end

local cut, floor, added, removed = sentinel == '-1', nil, 0, 0
if cut then
  floor = tonumber(redis.call('ZRANGE', window, 1, 1)[1])
end
for a = 2, last, 4 do
  local id, source = ARGV[a], ARGV[a + 1]
  if ARGV[a + 3] == '0' then
    if redis.call('ZREM', window, id) == 0 then
      touch(id, false)
    else
      removed = removed + 1
    end
  elseif source == '' or (allows(source) and (ARGV[a + 2] == '' or allows(ARGV[a + 2]))) then
    if cut and (not floor or tonumber(id) < floor) then
      touch(id, false) -- SQL may have rows between it and the floor
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
  redis.call('DEL', window) -- it has no floor any more: its next reader has it made
end
return 1
