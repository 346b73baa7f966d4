-- Counts a view, unless this visitor's of this book was counted lately. All keys are in the slot of "viewed:".
-- KEYS: viewed:, the visitor's mark of having been counted, the period, the marks of the backup.
-- ARGV: for how many seconds that mark is good, the book, "visitor|user|book|", how many seconds a period has.
-- Returns 1 when it was counted, else 0.
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[1]) then
  return 0
end
local clock = redis.call('TIME')
local now = math.floor(clock[1] / tonumber(ARGV[4]))
local period = tonumber(redis.call('GET', KEYS[3]))
if not period then
  redis.call('SET', KEYS[3], now)
  period = now
end
-- Halving that is still to come must not halve what comes after it: until then this view weighs the more.
local weight = 2 ^ math.min(now - period, 1000)
redis.call('ZINCRBY', KEYS[1], string.format('%.17g', -weight), ARGV[2])
mark(KEYS[4], ARGV[3] .. string.format('%d%06d', clock[1], clock[2]))
return 1
