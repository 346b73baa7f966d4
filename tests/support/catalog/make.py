"""Create books, tags, authors and products for tests."""

from collections.abc import Iterable
from itertools import count
from typing import Any

from django.db import transaction

from catalog.models import Author, Book, Tag, Tagging
from catalog.names import normalise
from shop.models import Product

_numbers = count(1)
# Fields of a book's form in the admin that leave its details empty.
NO_DETAILS = {"details-TOTAL_FORMS": "0", "details-INITIAL_FORMS": "0"}


@transaction.atomic  # otherwise each statement commits, and is drained, by itself
def make_book(title: str = "", *, tags: str = "", authors: str = "", **fields: Any) -> Book:
    """Create a book with ``tags`` (separated by white space) and ``authors`` (separated by commas).

    Tags and authors that do not exist are created.
    """
    book = Book.objects.create(title=title or f"Book {next(_numbers)}", **fields)
    if tags:
        book.tags.set([Tag.objects.get_or_create(name=name)[0] for name in tags.split()])
    for name in filter(None, authors.split(",")):
        book.authors.add(Author.objects.get_or_create(name=name.strip())[0])
    return book


def make_books(books: Iterable[Book], *, tags: str = "", authors: str = "") -> list[Book]:
    """Create these books in bulk, without signals, all with the same tags and authors."""
    with transaction.atomic():
        made = Book.objects.bulk_create(books)
        make_links((book, name) for book in made for name in tags.split())
        make_authors((book, name.strip()) for book in made for name in filter(None, authors.split(",")))
    return made


def make_links(pairs: Iterable[tuple[Book, str]]) -> None:
    """Add tags with any names to books, without signals."""
    links = [(book.pk, normalise(name)) for book, name in pairs]
    ids = _ids(Tag, (name for _, name in links))
    Tagging.objects.bulk_create(Tagging(book_id=pk, tag_id=ids[name]) for pk, name in links)


def make_authors(pairs: Iterable[tuple[Book, str]]) -> None:
    """Add authors to books, without signals."""
    links = [(book.pk, name) for book, name in pairs]
    ids = _ids(Author, (name for _, name in links))
    through = Book.authors.through
    through.objects.bulk_create(through(book_id=pk, author_id=ids[name]) for pk, name in links)


def _ids(model: type[Tag] | type[Author], names: Iterable[str]) -> dict[str, int]:
    """Return the ids of the rows with these names, after creating missing rows."""
    model.objects.bulk_create([model(name=name) for name in dict.fromkeys(names)], ignore_conflicts=True)
    return dict(model.objects.values_list("name", "pk"))


def make_products(books: Iterable[Book]) -> None:
    """Create products for nine of ten books, with many equal prices; about one in five products is inactive."""
    Product.objects.bulk_create(
        Product(book=book, price=100 * (n * 7 % 6), stock=n % 3, is_active=n % 5 != 3)
        for n, book in enumerate(books)
        if n % 10 != 8
    )
