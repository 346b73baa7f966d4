"""Ten thousand real books: Redis and SQL show the same, whatever is asked."""

import os
import random

import pytest
from django.conf import settings
from django.core.management import call_command

from catalog import query, sql
from catalog.index import copy
from catalog.models import Book
from catalog.query import And, Node, Not, Or
from shop.models import Product
from tests.support.catalog.make import make_products
from tests.support.catalog.queries import ORDERS
from tests.support.catalog.warm import all_pages, both, own_copy, warm_up

__all__ = ["own_copy"]
REAL = settings.BASE_DIR.parent / "shared" / "data" / "goodbooks"
QUERIES = 40
pytestmark = [
    pytest.mark.slow(50),
    pytest.mark.on_postgres,  # on SQLite: a smaller catalogue in test_selectors, and this one in a browser
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_copy"),
    pytest.mark.skipif(
        not REAL.exists() and "CI" not in os.environ, reason="needs the goodbooks files in ../shared/data/goodbooks"
    ),
]


def _query(chance: random.Random, names: list[str], depth: int = 0) -> Node:
    """Any query; common tags are named more often than rare ones."""
    kind = chance.choice(["tag", "and", "or", "not", "minus"] if depth < 3 else ["tag"])
    if kind == "tag":
        return query.Tag(names[int(len(names) * chance.random() ** 4)])
    if kind == "not":
        return Not(_query(chance, names, depth + 1))
    parts = tuple(_query(chance, names, depth + 1) for _ in range(chance.randint(2, 3)))
    if kind == "minus":
        return And((parts[0], *map(Not, parts[1:])))
    return And(parts) if kind == "and" else Or(parts)


def test_redis_and_sql_show_the_same() -> None:
    call_command("import_goodbooks", str(REAL), "--books-only", "--json")
    if not Product.objects.exists():
        make_products(Book.objects.all())
    warm_up()
    _any_query()
    _every_page("classics - fiction")
    _the_whole_catalogue()


def _any_query() -> None:
    held = copy._held
    assert held is not None
    names = [name for _, name in held.structure._sizes] + ["no such tag", "fantsy"]
    chance, found = random.Random(20), 0
    for n in range(QUERIES):
        page = both(query.to_text(_query(chance, names)), ORDERS[n % len(ORDERS)])
        found += page.count > 0
        if page.next:
            both(page.query, page.sort, page.next)
    assert found > QUERIES / 2


def _every_page(text: str) -> None:
    node = query.parse(text)
    assert node is not None
    for order in ORDERS:
        assert set(all_pages(text, order)) == set(sql.matching(node).values_list("pk", flat=True))


def _the_whole_catalogue() -> None:
    """Paged through in the copy, in every order; SQL says what the order is."""
    held = copy._held
    assert held is not None
    for order in ORDERS:
        expected = sql.page(None, order, None, Book.objects.count())
        found: list[sql.Position] = []
        while page := held.structure.find(None, order, found[-1] if found else None, 500).positions:
            found += page
        assert found == expected
