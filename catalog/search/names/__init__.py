"""The names under which a search finds a book: its titles, with numbers in digits and in words."""
