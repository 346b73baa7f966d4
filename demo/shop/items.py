"""Products of the demo, and the books that its customers see."""

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from catalog.models import Book, Tag
from common.database import split_slices
from demo.words.books import GENRES
from shop.importer import synthetic
from shop.models import Product

MAX_ITEMS: Final = 90  # books on view
BOOK_KINDS: Final = tuple(genre.tags[0] for genre in GENRES)


class Item(NamedTuple):
    """A book for sale. kind: one of KINDS, or ""."""

    pk: int
    title: str
    price: int
    kind: str


def find_items() -> list[Item]:
    """Return the most popular books that are for sale and in stock."""
    rows = Product.objects.for_sale().filter(stock__gt=0).order_by("-book__popularity", "book__title")
    found = list(rows.values_list("pk", "book__title", "price")[:MAX_ITEMS])
    kinds: dict[int, set[str]] = defaultdict(set)
    tagged = Tag.objects.filter(name__in=BOOK_KINDS, books__in=[pk for pk, _, _ in found])
    for pk, name in tagged.values_list("books", "name"):
        kinds[pk].add(name)
    return [Item(pk, title, price, _pick_kind(kinds[pk])) for pk, title, price in found]


def _pick_kind(tags: set[str]) -> str:
    """Return the first of BOOK_KINDS among the tags of a book, or ""."""
    for kind in BOOK_KINDS:
        if kind in tags:
            return kind
    return ""


def pick_popular(random: Random, items: Sequence[Item]) -> Item:
    """Return a random item, the first items more often."""
    return items[int(len(items) * random.random() ** 1.8)]


def add_products() -> None:
    missing = Book.objects.filter(product=None).order_by("pk").values_list("pk", "pages")
    for some in split_slices(list(missing)):
        rows = [_build_product(pk, pages) for pk, pages in some]
        # A second start beside this one may add the same products.
        Product.objects.bulk_create(rows, ignore_conflicts=True)


def _build_product(pk: int, pages: int | None) -> Product:
    # A page of a paperback weighs about a gram, and the cover of a book as much as 80 pages.
    grams = 80 + (pages or 320)
    return Product(pk=pk, price=synthetic.invent_price(pk), stock=synthetic.invent_stock(pk), grams=grams)
