-- Notes a visit to a page. KEYS: the pages by time, the stream, its counter. ARGV: page, length of the stream.
local clock = redis.call('TIME')
local now = string.format('%d.%06d', clock[1], clock[2])
redis.call('ZADD', KEYS[1], now, ARGV[1])
visit(KEYS[2], KEYS[3], ARGV[2], 'page', ARGV[1], 'at', now)
