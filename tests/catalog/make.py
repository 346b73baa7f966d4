"""Books for tests."""

from collections.abc import Iterable
from itertools import count
from typing import Any

from catalog.models import Author, Book, Tag
from shop.models import Product

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


def make_products(books: Iterable[Book]) -> None:
    """Four of five are for sale, many at the same price; one is not any more, or never was."""
    Product.objects.bulk_create(
        Product(book=book, price=100 * (n * 7 % 6), stock=n % 3, is_active=n % 5 != 3)
        for n, book in enumerate(books)
        if n % 10 != 8
    )
