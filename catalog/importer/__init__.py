"""Import the goodbooks-10k files: books, authors, tags, and the tags of each book.

files    reads CSV files, and reports and skips bad rows
clean    converts the text of a cell to a value
books    imports books and authors
tags     imports tags and the tags of books

The import only adds missing rows. An existing book, identified by its goodreads number, is left unchanged.
"""
