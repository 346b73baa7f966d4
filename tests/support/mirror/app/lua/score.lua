-- Write a score if it is better than the old one. A score below zero removes the player.
-- KEYS: tbest, its marks. ARGV: player, score.
if tonumber(ARGV[2]) < 0 then
  redis.call('ZREM', KEYS[1], ARGV[1])
else
  redis.call('ZADD', KEYS[1], 'GT', ARGV[2], ARGV[1])
end
mark(KEYS[2], ARGV[1])
