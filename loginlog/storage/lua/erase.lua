-- Erases a dense id, for which scripts set no bit afterwards, and deletes its user's months. KEYS: erased, population,
-- months, then the month bitmaps. ARGV: dense id, number of members in months when the keys were collected.
-- Runs only once: the user may log in again later, with another dense id but the same keys of months.
-- Returns 1 (done), 0 (was done already) or -1 (the months have changed: collect the keys again).
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
