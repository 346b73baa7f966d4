-- From now on no bit is set for a number, and its user's months are gone. KEYS: erased, population, months, then the
-- month bitmaps. ARGV: number, how many months there were when the keys were put together.
-- Once only: afterwards the user may log in again, with another number and the same keys of months.
-- Returns 1 (done), 0 (was done already) or -1 (there are other months now: look again).
if redis.call('GETBIT', KEYS[1], ARGV[1]) == 1 then
  return 0
end
if redis.call('ZCARD', KEYS[3]) ~= tonumber(ARGV[2]) then
  return -1
end
redis.call('SETBIT', KEYS[1], ARGV[1], 1)
if redis.call('GETBIT', KEYS[2], ARGV[1]) == 1 then
  redis.call('SETBIT', KEYS[2], ARGV[1], 0)
end
for i = 4, #KEYS do
  redis.call('DEL', KEYS[i])
end
return 1
