-- Merges SQL's version of a cart into Redis, as shop.carts.content.merge_versions does, and marks nothing.
-- KEYS: the cart, its state. ARGV: floor, new digest of a moved cart or "", seconds to remember that digest; then name,
-- quantity, version, price, added, ...
local cart, state, floor = KEYS[1], KEYS[2], tonumber(ARGV[1])
local own, own_floor, given = lines_of(state), number_of(state, 'floor'), {}
for i = 4, #ARGV, 5 do
  local name, quantity, version = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local price, added = tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])
  local had, since, paid, first = read_line(own[name])
  given[name] = true
  local is_alike = version == since
  local newer = version > since
    or (is_alike and quantity > had)
    or (is_alike and quantity == had and price > paid)
    or (is_alike and quantity == had and price == paid and added > first)
  if newer and (own[name] or version > own_floor) then
    write_line(cart, state, name, quantity, version, price, added)
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
