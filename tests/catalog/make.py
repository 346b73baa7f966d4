"""Books for tests."""

from itertools import count
from typing import Any

from catalog.models import Author, Book, Tag

_numbers = count(1)


def make_book(title: str = "", *, tags: str = "", authors: str = "", **fields: Any) -> Book:
    """A book; ``tags`` are parted by white space and ``authors`` by commas, and made when they are new."""
    book = Book.objects.create(title=title or f"Book {next(_numbers)}", **fields)
    book.tags.set([Tag.objects.get_or_create(name=name)[0] for name in tags.split()])
    for name in filter(None, authors.split(",")):
        book.authors.add(Author.objects.get_or_create(name=name.strip())[0])
    return book


def make_links(pairs: list[tuple[Book, str]]) -> None:
    """Put tags of any name on books."""
    for book, name in pairs:
        book.tags.add(Tag.objects.get_or_create(name=name)[0])
