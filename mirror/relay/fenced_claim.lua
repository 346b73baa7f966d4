-- Set the fences of a drain in one slot, and read the values of the places that it wants to write.
-- KEYS: the fences, then the places. ARGV: number of fences, token, milliseconds; then for each place its field, or ''.
-- Returns the values.
local fences, found = tonumber(ARGV[1]), {}
for i = 1, fences do
  redis.call('SET', KEYS[i], ARGV[2], 'PX', ARGV[3])
end
for i = fences + 1, #KEYS do
  local field = ARGV[i - fences + 3]
  found[#found + 1] = field == '' and redis.call('GET', KEYS[i]) or redis.call('HGET', KEYS[i], field)
end
return found
