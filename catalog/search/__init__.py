"""Search: one forgiving box that finds books, authors, tags and readers.

``words`` makes terms of texts, ``entries`` makes sorted lists of terms; SQL (``store``, ``lists``) and Redis
(``mirrors``) keep the same lists, ``finding`` asks either of them, and ``ranking`` puts what was found in order.
"""
