-- mark(marks, item): SQL does not have this item's present value yet. Its version is the time in microseconds,
-- and always greater than the one before: a flusher that has written an older one must not clear it.
-- (A version below zero: the item was set aside. What is new of it is tried again.)
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

