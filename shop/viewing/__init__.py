"""Who looks at what, and what is looked at most.

visits       what a request says of a book that was shown, and what a visitor saw last
popularity   how often each book is looked at: counted, and made anew from SQL when Redis has lost it
halving      every five minutes it counts half
receivers    when a book is shown, a session goes on under another token, or ends
"""
