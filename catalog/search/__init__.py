"""Search: one forgiving box that finds books, authors, tags and readers.

``words`` splits texts into terms, and ``entries`` names the sorted lists of terms. SQL (``store``, ``lists``) and Redis
(``mirrors``) keep the same lists. ``finding`` reads candidates from either of them, and ``ranking`` sorts them.

For typing errors, names have their first one to four letters and their two halves (one mistake leaves one half), and a
word its first seven letters with one letter removed (with two removed it would have 37 entries). At 100,000 books a
search sends 100 commands in two round trips, 0.49 ms in Redis; documents and lists take 5.3 kB a book.
"""
