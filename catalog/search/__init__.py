"""Search: one forgiving box that finds books, authors, tags and readers.

``words`` splits texts into terms, and ``entries`` names the sorted lists of terms. SQL (``store``, ``lists``) and Redis
(``mirrors``) keep the same lists. ``finding`` reads candidates from either of them, and ``ranking`` sorts them.
"""
