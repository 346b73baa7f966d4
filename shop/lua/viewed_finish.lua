-- Adds SQL's counts from before the start of a rebuild to the counts since, unless another rebuild has started.
-- KEYS: viewed:, the period, the token of the rebuild, the marker of completeness, SQL's counts.
-- ARGV: the token, the period at the start, the stamp for the marker. Returns 1 if it was done, else 0.
if redis.call('GET', KEYS[3]) ~= ARGV[1] then
  redis.call('UNLINK', KEYS[5])
  return 0
end
local weight = 0.5 ^ (tonumber(redis.call('GET', KEYS[2]) or ARGV[2]) - tonumber(ARGV[2]))
redis.call('ZUNIONSTORE', KEYS[1], 2, KEYS[1], KEYS[5], 'WEIGHTS', 1, string.format('%.17g', weight))
redis.call('UNLINK', KEYS[3], KEYS[5])
redis.call('SET', KEYS[4], ARGV[3])
return 1
