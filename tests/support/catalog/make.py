"""Books for tests."""

from collections.abc import Iterable
from itertools import count
from typing import Any

from django.db import transaction

from catalog.models import Author, Book, Tag, Tagging
from catalog.names import normalise
from shop.models import Product

_numbers = count(1)


@transaction.atomic  # what is committed piece by piece is drained piece by piece
def make_book(title: str = "", *, tags: str = "", authors: str = "", **fields: Any) -> Book:
    """A book; ``tags`` are parted by white space and ``authors`` by commas, and made when they are new."""
    book = Book.objects.create(title=title or f"Book {next(_numbers)}", **fields)
    book.tags.set([Tag.objects.get_or_create(name=name)[0] for name in tags.split()])
    for name in filter(None, authors.split(",")):
        book.authors.add(Author.objects.get_or_create(name=name.strip())[0])
    return book


def make_books(books: Iterable[Book], *, tags: str = "", authors: str = "") -> list[Book]:
    """All these at once, with the same tags and authors, unnoticed by signals."""
    with transaction.atomic():
        made = Book.objects.bulk_create(books)
        make_links((book, name) for book in made for name in tags.split())
        make_authors((book, name.strip()) for book in made for name in filter(None, authors.split(",")))
    return made


def make_links(pairs: Iterable[tuple[Book, str]]) -> None:
    """Put tags of any name on books, unnoticed by signals."""
    links = [(book.pk, normalise(name)) for book, name in pairs]
    ids = _ids(Tag, (name for _, name in links))
    Tagging.objects.bulk_create(Tagging(book_id=pk, tag_id=ids[name]) for pk, name in links)


def make_authors(pairs: Iterable[tuple[Book, str]]) -> None:
    """Say who wrote books, unnoticed by signals."""
    links = [(book.pk, name) for book, name in pairs]
    ids = _ids(Author, (name for _, name in links))
    through = Book.authors.through
    through.objects.bulk_create(through(book_id=pk, author_id=ids[name]) for pk, name in links)


def _ids(model: type[Tag] | type[Author], names: Iterable[str]) -> dict[str, int]:
    """The rows of these names, made when they are new."""
    model.objects.bulk_create([model(name=name) for name in dict.fromkeys(names)], ignore_conflicts=True)
    return dict(model.objects.values_list("name", "pk"))


def make_products(books: Iterable[Book]) -> None:
    """Four of five are for sale, many at the same price; one is not any more, or never was."""
    Product.objects.bulk_create(
        Product(book=book, price=100 * (n * 7 % 6), stock=n % 3, is_active=n % 5 != 3)
        for n, book in enumerate(books)
        if n % 10 != 8
    )
