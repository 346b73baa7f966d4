"""Carts: written to Redis first and backed up to SQL.

cart        read a cart from Redis, with an equal answer from SQL as the fallback
content     the value of a cart: its lines and their versions, and the merge of two values
scripts     the Lua scripts that change carts in Redis
sql         the rows that back carts up
direct      writes to SQL while Redis is away
moves       carts when tokens rotate, users log in and sessions end
receivers   the signals that start those moves
settling    send carts that were written to SQL to Redis
page, link  the cart's page, and the number of copies in the page header
"""
