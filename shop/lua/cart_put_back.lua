-- KEYS: the cart, its state. ARGV: floor, where it was moved to or "", seconds for which that is remembered; then name,
-- quantity, version, price, ...: as SQL has it. Marks nothing. As shop.carts.content.merged.
local cart, state, floor = KEYS[1], KEYS[2], tonumber(ARGV[1])
local own, own_floor, given = lines_of(state), number_of(state, 'floor'), {}
for i = 4, #ARGV, 4 do
  local name, quantity, version, price = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
  local had, since, paid = read_line(own[name])
  given[name] = true
  local newer = version > since
    or (version == since and (quantity > had or (quantity == had and price > paid)))
  if newer and (own[name] or version > own_floor) then
    write_line(cart, state, name, quantity, version, price)
  end
end
for name, text in pairs(own) do
  local _, version = read_line(text)
  if not given[name] and version <= floor then
    redis.call('HDEL', state, name)
    redis.call('HDEL', cart, name)
  end
end
if floor > own_floor then
  redis.call('HSET', state, 'floor', ARGV[1])
end
sum_up(cart, state)
if ARGV[2] ~= '' then
  redis.call('HSET', state, 'moved', ARGV[2])
  redis.call('EXPIRE', state, ARGV[3])
  redis.call('EXPIRE', cart, ARGV[3])
end
