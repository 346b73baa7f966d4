-- Begin a drain of a row: set its fence, and read what Redis has of it. From now on older drains of the row are refused.
-- KEYS: the fence, the staged entries, then the key of the command that reads the row, if any.
-- ARGV: token, milliseconds that the fence lives, milliseconds for which the fence of another drain is respected (0: not
-- at all); then the command's name and further arguments.
-- Returns {the staged entries, the reply to the command}, or 0 if another drain has begun a moment ago.
local left = redis.call('PTTL', KEYS[1])
if left > tonumber(ARGV[2]) - tonumber(ARGV[3]) and redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
local staged = redis.call('GET', KEYS[2])
if KEYS[3] then
  return {staged, redis.call(ARGV[4], KEYS[3], unpack(ARGV, 5))}
end
return {staged, false}
