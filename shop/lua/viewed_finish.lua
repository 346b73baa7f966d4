-- What SQL had counted before that moment is added to what was counted since, if nobody has begun anew.
-- KEYS: viewed:, the period, since when it counts, whether it is whole, what SQL had counted.
-- ARGV: the token of the beginning, its period, what "whole" is to say. Returns whether it was done.
if redis.call('GET', KEYS[3]) ~= ARGV[1] then
  redis.call('UNLINK', KEYS[5])
  return 0
end
local weight = 0.5 ^ (tonumber(redis.call('GET', KEYS[2]) or ARGV[2]) - tonumber(ARGV[2]))
redis.call('ZUNIONSTORE', KEYS[1], 2, KEYS[1], KEYS[5], 'WEIGHTS', 1, string.format('%.17g', weight))
redis.call('UNLINK', KEYS[3], KEYS[5])
redis.call('SET', KEYS[4], ARGV[3])
return 1
