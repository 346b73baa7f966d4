-- KEYS[1] recent:. ARGV: sessions to keep, the most to claim. Claims the oldest sessions beyond the limit, which sets
-- their score to 0. Who is the oldest is asked and answered in one step: nobody can be seen in between.
-- Returns how many were claimed.
local claimed = redis.call('ZCOUNT', KEYS[1], 0, 0)
local beyond = redis.call('ZCARD', KEYS[1]) - claimed - tonumber(ARGV[1])
local count = math.min(beyond, tonumber(ARGV[2]))
if count <= 0 then
  return 0
end
local oldest = redis.call('ZRANGE', KEYS[1], claimed, claimed + count - 1)
local scored = {}
for i, digest in ipairs(oldest) do
  scored[2 * i - 1], scored[2 * i] = 0, digest
end
redis.call('ZADD', KEYS[1], unpack(scored))
return count
