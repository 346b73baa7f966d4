"""Returns: a buyer asks, staff accept or refuse, and receive the books, which refunds them.

rules     which copies of an order can be returned, and until when
services  ask, accept, refuse, receive
forms     the form of the buyer
views     the pages of readers and, behind a signed link, of guests
"""
