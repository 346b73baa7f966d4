-- Claims rows that are due. Other workers skip them until the claim expires, so a killed worker only delays its rows.
-- KEYS: schedule:. ARGV: largest number of rows, seconds of the claim.
-- Returns {the time, the score of claimed rows, ids ...}.
local clock = redis.call('TIME')
local now = string.format('%d.%06d', clock[1], clock[2])
local held = string.format('%.6f', tonumber(now) + tonumber(ARGV[2]))
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])
for i = 1, #ids do
  redis.call('ZADD', KEYS[1], 'XX', held, ids[i])
end
return {now, held, unpack(ids)}
