-- Precedes a script that depends on values in Redis, and makes it return COLD if these may be older than SQL's.
-- The script may return COLD as well if it misses an item. The item is then restored from SQL, and the script runs again.
-- KEYS[#KEYS]: the backup's marker. ARGV[#ARGV - 1]: the required beginning of the marker. ARGV[#ARGV]: '1' if the items
-- were restored just now.
local COLD = redis.status_reply('COLD')
local restored = ARGV[#ARGV] == '1'
local marker = redis.call('GET', KEYS[#KEYS])
if not marker or string.sub(marker, 1, #ARGV[#ARGV - 1]) ~= ARGV[#ARGV - 1] then
  return COLD
end

