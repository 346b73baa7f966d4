"""Views of books and their popularity.

visits       the recording of views, and each visitor's last viewed books
ahead        the recording of a view in a pipeline that is sent anyway
popularity   the counts of views, and the most viewed books
halving      the decay of these counts, and their rebuild from SQL
keeping      the time for which SQL keeps views
receivers    receivers for shown books, rotated tokens, logins, ended sessions and deleted users
"""
