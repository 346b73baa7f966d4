"""Carts: written to SQL, and read from their mirror (``shop.mirrors.carts``).

rules       the limits of a cart, and the combination of several
storage     writes, and what happens to a cart when a token rotates, a user logs in and a session ends
receivers   the signals of these events
reading     read a cart
page        the lines of the cart's page
header      the number of copies in the page header
"""
