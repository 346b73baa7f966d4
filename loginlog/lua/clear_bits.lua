-- KEYS: bitmaps; ARGV: numbers. Takes the numbers out of all of them; makes no bitmap that is not there.
for _, key in ipairs(KEYS) do
  for _, number in ipairs(ARGV) do
    if redis.call('GETBIT', key, number) == 1 then
      redis.call('SETBIT', key, number, 0)
    end
  end
end
return 0
