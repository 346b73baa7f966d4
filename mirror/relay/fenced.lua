-- Execute commands if all fences still hold this drain's token, and then delete the first ARGV[3] fences.
-- KEYS: the fences, then the key of each command. ARGV: number of fences, token, number of fences to delete; then for each command its
-- name, the number of its further arguments, and these. The command "TAKE" deletes a string, or a field of a hash, that
-- still has the given value: another row may have taken its place. "STILL", which precedes the others, checks that a
-- member of a sorted set has the given score.
-- Returns 1, or 0 if a fence holds another token or a member another score.
local fences, token = tonumber(ARGV[1]), ARGV[2]
for i = 1, fences do
  if redis.call('GET', KEYS[i]) ~= token then
    return 0
  end
end
local at = 4
for i = fences + 1, #KEYS do
  local name, count = ARGV[at], tonumber(ARGV[at + 1])
  local first, last = at + 2, at + 1 + count
  if name == 'STILL' then
    local score = redis.call('ZSCORE', KEYS[i], ARGV[first])
    if not score or tonumber(score) ~= tonumber(ARGV[last]) then
      return 0
    end
  elseif name ~= 'TAKE' then
    redis.call(name, KEYS[i], unpack(ARGV, first, last))
  elseif count == 1 then
    if redis.call('GET', KEYS[i]) == ARGV[first] then
      redis.call('DEL', KEYS[i])
    end
  elseif redis.call('HGET', KEYS[i], ARGV[first]) == ARGV[last] then
    redis.call('HDEL', KEYS[i], ARGV[first])
  end
  at = last + 1
end
for i = 1, tonumber(ARGV[3]) do
  redis.call('DEL', KEYS[i])
end
return 1
