-- Before a script that builds on what Redis has. KEYS[#KEYS]: the marker that says that it is nothing older than
-- what SQL has; ARGV[#ARGV - 1]: what the marker has to begin with; ARGV[#ARGV]: '1' when what SQL has of these items
-- was put back just now. The script may return COLD too (an item is not there): SQL's is put back, and it runs again.
local COLD = redis.status_reply('COLD')
local restored = ARGV[#ARGV] == '1'
local marker = redis.call('GET', KEYS[#KEYS])
if not marker or string.sub(marker, 1, #ARGV[#ARGV - 1]) ~= ARGV[#ARGV - 1] then
  return COLD
end

