-- KEYS[1] tbest, KEYS[2] its marks; ARGV player, score (below zero: the player leaves).
if tonumber(ARGV[2]) < 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'GT', ARGV[2], ARGV[1])
end
mark(KEYS[2], ARGV[1])
