-- KEYS[1] the marks; ARGV items: marks them all.
for i = 1, #ARGV do
  mark(KEYS[1], ARGV[i])
end
