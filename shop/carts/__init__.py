"""Carts: kept in Redis first, and backed up to SQL.

cart        reading them, from Redis or, with the same answer, from SQL
content     what is in one, since when each line is so, and how two of them are put together
scripts     the same in Lua, where they are changed
sql         the rows they are backed up to
direct      writing to SQL when Redis is away, and seeing it at once
moves       under another token, at a login, when a session ends
receivers   when that happens
settling    telling Redis what SQL moved
page, link  the cart's page, and the number in the header
"""
