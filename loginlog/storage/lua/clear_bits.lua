-- KEYS: bitmaps; ARGV: positions. Clears these bits in all bitmaps; creates no missing bitmap.
for _, key in ipairs(KEYS) do
  for _, number in ipairs(ARGV) do
    if redis.call('GETBIT', key, number) == 1 then
      redis.call('SETBIT', key, number, 0)
    end
  end
end
return 0
