-- Record that a session is used now. KEYS: recent:, the stream of visits, its counter. ARGV: digest, minimum seconds
-- between two touches, "1" to add a missing session, length of the stream.
-- Returns 1: touched; 0: the session is being removed; -1: it is missing.
local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not before and ARGV[3] ~= '1' then
  return -1
end
if before and tonumber(before) == 0 then
  return 0
end
local clock = redis.call('TIME')
local now = string.format('%d.%06d', clock[1], clock[2])
if before and tonumber(now) < tonumber(before) + tonumber(ARGV[2]) then
  return 1
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
visit(KEYS[2], KEYS[3], ARGV[4], 'session', ARGV[1], 'at', string.format('%d%06d', clock[1], clock[2]))
return 1
