-- Changes lines of a cart, as shop.carts.content.apply_changes does.
-- KEYS: the cart, its state, the marks. ARGV: digest, mode (set, add, take), key of an order or "", the version at which
-- "take" empties the lines, time of the request (microseconds), largest number of lines, largest number of copies; then
-- product, number, price, ...
-- Returns {"ok", state}, {"moved", digest}, or {"lines"} or {"copies"} for the limit that refused the change.
-- A missing cart is empty, because Redis has all live carts.
local cart, state, mode = KEYS[1], KEYS[2], ARGV[2]
local moved = redis.call('HGET', state, 'moved')
if moved then
  return {'moved', moved}
end
local order = 'order:' .. ARGV[3]
if ARGV[3] ~= '' and redis.call('HEXISTS', state, order) == 1 then
  return {'ok', redis.call('HGETALL', state)}
end
local before = number_of(state, 'version')
-- Not Redis' time: a server that hung may run this late, and must not outdate changes made meanwhile.
local now = math.max(tonumber(ARGV[5]), before + 1)
local whole = mode == 'take' and tonumber(ARGV[4]) == before
local count, changes = redis.call('HLEN', cart), {}
for i = 8, #ARGV - 2, 3 do -- the last two belong to the fence
  local had, since, price, added = read_line(redis.call('HGET', state, ARGV[i]))
  local number, quantity = tonumber(ARGV[i + 1]), 0
  if mode == 'set' then
    quantity = number
  elseif mode == 'add' then
    quantity = had + number
  elseif not whole then
    quantity = math.max(0, had - number)
  end
  local paid = mode == 'take' and price or tonumber(ARGV[i + 2])
  if quantity > had and quantity > tonumber(ARGV[7]) then
    return {'copies'}
  end
  if quantity > 0 and had == 0 then
    count = count + 1
    if count > tonumber(ARGV[6]) then
      return {'lines'}
    end
  elseif quantity == 0 and had > 0 then
    count = count - 1
  end
  if quantity ~= had or (quantity > 0 and paid ~= price) then
    if had == 0 then
      added = now
    elseif added == 0 then
      added = since
    end
    changes[#changes + 1] = {ARGV[i], quantity, paid, added}
  end
end
for _, change in ipairs(changes) do
  write_line(cart, state, change[1], change[2], now, change[3], change[4])
end
if ARGV[3] ~= '' then
  write_line(cart, state, order, 0, now, 0, 0)
end
if #changes > 0 or ARGV[3] ~= '' then
  sum_up(cart, state)
  mark(KEYS[3], ARGV[1])
end
return {'ok', redis.call('HGETALL', state)}
