-- KEYS[1] tbest; ARGV score, player, ...: as SQL has them. A better one stays.
for i = 1, #ARGV, 2 do
  redis.call('ZADD', KEYS[1], 'GT', ARGV[i], ARGV[i + 1])
end
