-- Shared functions of the cart scripts. The cart maps product to quantity. Its state maps a name (a product, or an order
-- that took its lines out) to "quantity version price added", and has version, copies, floor and moved. "added" may be
-- missing.
local REMOVED = 200
local WORDS = {version = true, copies = true, floor = true, moved = true}

local function read_line(text)
  local quantity, version, price, added = string.match(text or '0 0 0', '^(%d+) (%d+) (%d+) ?(%d*)$')
  return tonumber(quantity), tonumber(version), tonumber(price), tonumber(added) or 0
end

local function write_line(cart, state, name, quantity, version, price, added)
  redis.call('HSET', state, name, string.format('%.0f %.0f %.0f %.0f', quantity, version, price, added))
  if quantity > 0 then
    redis.call('HSET', cart, name, string.format('%.0f', quantity))
  else
    redis.call('HDEL', cart, name)
  end
end

local function number_of(state, word)
  return tonumber(redis.call('HGET', state, word) or 0)
end

-- Forgets the oldest removed lines, if there are more than REMOVED.
local function prune(state, lines)
  local gone = {}
  for name, text in pairs(lines) do
    local quantity, version = read_line(text)
    if quantity == 0 then
      gone[#gone + 1] = {version, name}
    end
  end
  if #gone <= REMOVED then
    return
  end
  table.sort(gone, function(one, other)
    return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2])
  end)
  local last = #gone - REMOVED / 2
  for i = 1, last do
    redis.call('HDEL', state, gone[i][2])
  end
  redis.call('HSET', state, 'floor', string.format('%.0f', math.max(number_of(state, 'floor'), gone[last][1])))
end

-- Returns the lines of a state by name.
local function lines_of(state)
  local flat, lines = redis.call('HGETALL', state), {}
  for i = 1, #flat, 2 do
    if not WORDS[flat[i]] then
      lines[flat[i]] = flat[i + 1]
    end
  end
  return lines
end

-- Updates the number of copies and the version after a change.
local function sum_up(cart, state)
  local lines = lines_of(state)
  prune(state, lines)
  local copies, newest = 0, number_of(state, 'floor')
  for name, text in pairs(lines) do
    local quantity, version = read_line(text)
    copies, newest = copies + quantity, math.max(newest, version)
  end
  redis.call('HSET', state, 'copies', copies, 'version', string.format('%.0f', newest))
end
