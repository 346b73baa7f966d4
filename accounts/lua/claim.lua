-- Claim the oldest sessions beyond the limit, by setting their score to 0. No session can be touched between the search
-- for the oldest ones and the claim. KEYS[1]: recent:. ARGV: number of sessions to keep, maximum number to claim.
-- Returns the number of claimed sessions.
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
