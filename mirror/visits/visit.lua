-- visit(stream, trimmed, length, field, value, ...): append a visit to a stream, and count the entries that a full stream
-- loses by it.
local function visit(stream, trimmed, length, ...)
  local before = redis.call('XLEN', stream)
  redis.call('XADD', stream, 'MAXLEN', '~', length, '*', ...)
  local lost = before + 1 - redis.call('XLEN', stream)
  if lost > 0 then
    redis.call('INCRBY', trimmed, lost)
  end
end

