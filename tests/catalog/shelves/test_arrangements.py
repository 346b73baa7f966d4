"""Filters and orders of a shelf equal those of Python over random shelves, page by page."""

from collections.abc import Callable
from datetime import date, timedelta
from random import Random
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from catalog.models import Author, Book, Tag, Tagging
from catalog.shelves.models import EarlierReading, Shelf, ShelfEntry
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)

TODAY = date(2026, 5, 4)
SMALL = date(1, 1, 1)


def fill_shelf(reader: User, random: Random) -> None:
    authors = Author.objects.bulk_create(Author(name=f"{letter} Writer") for letter in "bcA")
    tags = Tag.objects.bulk_create(Tag(name=name) for name in ("ruby", "web"))
    for number in range(50):
        book = Book.objects.create(title=f"{random.choice('xyzXÉ')} {number}")
        book.authors.set(random.sample(authors, random.randrange(3)))
        if random.random() < 0.6:
            Tagging.objects.create(book=book, tag=random.choice(tags))
        finished = random.choice([None, TODAY - timedelta(days=random.randrange(900))])
        ShelfEntry.objects.create(
            user=reader,
            book=book,
            shelf=random.choice([Shelf.READ, Shelf.READ, Shelf.READ, Shelf.WANT]),
            stars=random.choice([None, 3, 8]),
            shelved_on=TODAY - timedelta(days=random.randrange(9)),
            finished_on=finished,
        )
        if random.random() < 0.2:
            EarlierReading.objects.create(user=reader, book=book, finished_on=date(2020, 5, 6))


def find_first_author(entry: ShelfEntry) -> str:
    links = Book.authors.through.objects.filter(book_id=entry.book_id).order_by("pk")
    return next((link.author.name.lower() for link in links), "")


ORDERS: dict[str, tuple[Callable[[ShelfEntry], Any], bool]] = {
    "": (lambda entry: entry.finished_on or SMALL, True),
    "shelved": (lambda entry: entry.shelved_on, True),
    "read": (lambda entry: entry.finished_on or SMALL, True),
    "stars": (lambda entry: entry.stars or 0, True),
    "title": (lambda entry: entry.book.title_key, False),
    "author": (find_first_author, False),
}
FILTERS: dict[str, Callable[[ShelfEntry], bool]] = {
    "": lambda entry: True,
    "stars=1.5": lambda entry: entry.stars == 3,
    "tag=Ruby": lambda entry: entry.book.tags.filter(name="ruby").exists(),
    "year=2020": lambda entry: EarlierReading.objects.filter(book=entry.book_id).exists(),
    "year=2026&stars=4": lambda entry: bool(entry.finished_on and entry.finished_on.year == 2026 and entry.stars == 8),
}


def walk(client: Client, address: str) -> list[int]:
    """Return the books of all pages."""
    found: list[int] = []
    while address:
        page = client.get(address, headers={"Accept": "application/json"}).json()
        found += [one["book"]["id"] for one in page["results"]]
        address = page["next"]
    return found


def test_orders_and_filters_equal_those_of_python() -> None:
    reader = User.objects.create(username="Rita")
    fill_shelf(reader, Random(7))
    rebuild()
    client, stranger = Client(), Client()
    client.force_login(reader)
    drain_all()
    entries = list(ShelfEntry.objects.filter(shelf=Shelf.READ).select_related("book"))
    for name, (value, is_descending) in ORDERS.items():
        for text, fits in FILTERS.items():
            # Redis orders equal scores by the text of their members.
            tie: Callable[[ShelfEntry], Any] = (lambda e: e.book_id) if name or text else (lambda e: str(e.book_id))
            rows = sorted(filter(fits, entries), key=tie, reverse=True)
            rows.sort(key=value, reverse=is_descending)
            expected = [entry.book_id for entry in rows]
            assert walk(client, f"/shelves/read/?sort={name}&{text}") == expected, (name, text)
            assert walk(stranger, f"/u/Rita/shelves/?shelf=read&sort={name}&{text}") == expected, (name, text)
    titles = walk(client, "/shelves/read/?sort=title")
    with record() as seen:
        text = client.get("/shelves/read/?sort=stars&tag=web&stars=nonsense&year=x&after=999999").content.decode()
    assert len(seen.sql) == 2
    assert seen.round_trips <= 6
    assert 'value="web"' in text
    with sql_only():
        assert walk(client, "/shelves/read/?sort=title") == titles
    abandoned = ShelfEntry.objects.filter(shelf=Shelf.WANT).first()
    assert abandoned is not None
    mine = {"user": reader, "book": abandoned.book}
    ShelfEntry.objects.filter(pk=abandoned.pk).update(shelf=Shelf.ABANDONED, finished_on=date(2018, 5, 6))
    EarlierReading.objects.create(**mine, finished_on=date(2017, 5, 6), is_finished=False)
    EarlierReading.objects.create(**mine, finished_on=date(2016, 5, 6))
    for year, found in (("2018", []), ("2017", []), ("2016", [abandoned.book_id])):
        assert walk(client, f"/shelves/did-not-finish/?year={year}") == found, "the statistics count the same readings"
    assert "No books on this shelf match these filters." in client.get("/shelves/read/?year=1800").content.decode()
