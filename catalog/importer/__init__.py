"""Reading the goodbooks-10k files: books, authors, tags, and which book has which tag.

files    CSV as it comes, with everything that can be wrong with it
clean    from a cell's text to a value, or to what is wrong with it
books    books and authors
tags     tags and which book has them

It only ever adds what is missing. A book that is there already (known by its goodreads number) is left as it is.
"""
