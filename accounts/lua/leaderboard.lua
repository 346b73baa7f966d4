-- Read a page of a ranking and the neighbours of one member, all in O(log n).
-- KEYS[1]: the sorted set. ARGV: kind of cursor ("first", "after", "before", "me"), score of its place, member of its
-- place, page size, the viewer ("" for an anonymous visitor), number of neighbours on each side.
-- Returns {total, page, neighbours}. The last two are {number of members before, first rank, members and scores}.
local key = KEYS[1]
local kind, score, member = ARGV[1], ARGV[2], ARGV[3]
local size, me, beside = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])

local function above(limit)
  return redis.call('ZCOUNT', key, '(' .. limit, '+inf')
end

-- Return the number of members before a place. The member of a cursor may have another score by now, so its rank tells
-- nothing: the place is found by bisection, in about twenty look-ups among a million.
local function before(limit, name)
  local low = above(limit)
  local high = low + redis.call('ZCOUNT', key, limit, limit)
  while low < high do
    local middle = math.floor((low + high) / 2)
    if redis.call('ZREVRANGE', key, middle, middle)[1] > name then
      low = middle + 1
    else
      high = middle
    end
  end
  return low
end

local function slice(start, count)
  if count < 1 then  -- an end of -1 would mean the last member
    return {start, 1, {}}
  end
  local rows = redis.call('ZREVRANGE', key, start, start + count - 1, 'WITHSCORES')
  return {start, rows[2] and above(rows[2]) + 1 or 1, rows}
end

local total = redis.call('ZCARD', key)
local mine = me ~= '' and redis.call('ZREVRANK', key, me)
local start = 0
if kind == 'after' then
  start = before(score, member)
  local there = redis.call('ZREVRANGE', key, start, start, 'WITHSCORES')
  if there[1] == member and tonumber(there[2]) == tonumber(score) then
    start = start + 1
  end
elseif kind == 'before' then
  start = before(score, member) - size
elseif kind == 'me' and mine then
  start = mine - math.floor(size / 2)
end
if start < 0 or start >= total then
  start = 0
end

local around = {0, 1, {}}
if mine then
  local first = math.max(0, mine - beside)
  around = slice(first, mine + beside - first + 1)
end
return {total, slice(start, size), around}
