-- Schedules claimed rows again. Rows that were rescheduled or removed during the claim stay as they are.
-- KEYS: schedule:. ARGV: the score of the claim, then id, seconds, id, seconds, ... (0 seconds: remove the row).
local clock = redis.call('TIME')
local held = tonumber(ARGV[1])
for i = 2, #ARGV, 2 do
  local score, delay = redis.call('ZSCORE', KEYS[1], ARGV[i]), tonumber(ARGV[i + 1])
  if score and tonumber(score) == held then
    if delay > 0 then
      redis.call('ZADD', KEYS[1], string.format('%.6f', clock[1] + clock[2] / 1000000 + delay), ARGV[i])
    else
      redis.call('ZREM', KEYS[1], ARGV[i])
    end
  end
end
