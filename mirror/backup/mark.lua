-- mark(marks, item): mark an item because SQL lacks its present value. Its version is the time in microseconds, but always
-- greater than the previous one, because a flush of an older value must not clear the mark. An item with a negative
-- version was quarantined. A new mark makes it an ordinary one again.
local time
local function mark(marks, item)
  if not time then
    local now = redis.call('TIME')
    time = now[1] * 1000000 + now[2]
  end
  local version = time
  local before = math.abs(tonumber(redis.call('ZSCORE', marks, item) or 0))
  if before >= version then
    version = before + 1
  end
  redis.call('ZADD', marks, string.format('%.0f', version), item)
end

