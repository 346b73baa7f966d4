-- KEYS: recent:, its marks. ARGV: digests of sessions that have ended. Returns how many were there.
redis.call('ZREM', KEYS[2], unpack(ARGV))
return redis.call('ZREM', KEYS[1], unpack(ARGV))
