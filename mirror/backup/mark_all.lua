-- Mark items. KEYS: marks. ARGV: items.
for i = 1, #ARGV do
  mark(KEYS[1], ARGV[i])
end
