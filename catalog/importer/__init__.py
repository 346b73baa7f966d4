"""Import the goodbooks-10k files: books, authors, tags, and the tags of each book.

files    reads CSV files, and reports and skips bad rows
clean    converts the text of a cell to a value
books    imports books and authors
tags     imports tags and the tags of books

The import only adds missing rows. An existing book, identified by its goodreads number, is left unchanged.

Staff also change and add books by a file with the columns of their download: ``table`` compares it with the books,
``edits`` makes the changes.
"""

from catalog.importer import clean
from catalog.importer.books import COLUMNS, OPTIONAL_COLUMNS, ImportReport, find_imported_ids, import_books
from catalog.importer.files import BadFile, Table
from catalog.importer.tags import TAG_COLUMNS, TAGGING_COLUMNS, import_taggings, import_tags

__all__ = [
    "COLUMNS",
    "OPTIONAL_COLUMNS",
    "TAGGING_COLUMNS",
    "TAG_COLUMNS",
    "BadFile",
    "ImportReport",
    "Table",
    "clean",
    "find_imported_ids",
    "import_books",
    "import_taggings",
    "import_tags",
]
