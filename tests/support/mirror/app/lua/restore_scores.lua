-- Restore scores from SQL, unless Redis has better ones.
-- KEYS: tbest. ARGV: score, player, ...
for i = 1, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], 'GT', ARGV[i], ARGV[i + 1])
end
