"""Who looks at what, and what is looked at most.

visits       what a request says of a book that was shown, and what a visitor saw last
ahead        the same, on the way to the page: in a pipeline that somebody else sends
popularity   how often each book is looked at: counting, and which are looked at most
halving      every five minutes it counts half; and it is made anew from SQL when Redis has lost it
keeping      how long views are kept in SQL
receivers    when a book is shown, a session goes on under another token, or ends, a user is erased
"""
