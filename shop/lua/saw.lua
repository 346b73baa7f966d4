-- Counts a view, unless a view of this book by this visitor was counted recently. All keys are in the slot of "viewed:".
-- KEYS: viewed:, the flag that this visitor's view was counted, the period, the stream of visits, its counter.
-- ARGV: seconds that the flag lives, seconds per period, length of the stream, visitor, user or '', book.
-- Returns 1 if the view was counted, else 0.
if not redis.call('SET', KEYS[2], 1, 'NX', 'EX', ARGV[1]) then
  return 0
end
local clock = redis.call('TIME')
local now = math.floor(clock[1] / tonumber(ARGV[2]))
local period = tonumber(redis.call('GET', KEYS[3]))
if not period then
  redis.call('SET', KEYS[3], now)
  period = now
end
-- Overdue halvings will halve this view too, although it came after them; so it starts with more weight.
local weight = 2 ^ math.min(now - period, 1000)
redis.call('ZINCRBY', KEYS[1], string.format('%.17g', -weight), ARGV[6])
local micros = string.format('%d%06d', clock[1], clock[2])
visit(KEYS[4], KEYS[5], ARGV[3], 'visitor', ARGV[4], 'user', ARGV[5], 'book', ARGV[6], 'at', micros)
return 1
