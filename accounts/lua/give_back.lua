-- Subtract one from every counter (KEYS) that exists and is above 0.
for _, key in ipairs(KEYS) do
    if tonumber(redis.call("GET", key) or 0) > 0 then
        redis.call("DECR", key)
    end
end
