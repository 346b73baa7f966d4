-- Make up to ARGV[1] quarantined items ordinary marked ones again. Return their number. KEYS: marks.
local aside = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', '(0', 'WITHSCORES', 'LIMIT', 0, ARGV[1])
for i = 1, #aside, 2 do
  redis.call('ZADD', KEYS[1], string.format('%.0f', -tonumber(aside[i + 1])), aside[i])
end
return #aside / 2
