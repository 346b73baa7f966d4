"""Mirrors of shelves: Redis equals SQL after any operations in any order."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date, timedelta
from random import Random

import pytest
from django.db import connection, transaction
from redis import Redis

from accounts.models import User
from catalog import keys
from catalog.models import Book
from catalog.readings.services import NotPossible, Position, add_reading, delete_reading, note_progress
from catalog.shelves import selectors, services
from catalog.shelves.models import EarlierReading, Privacy, ReadingProgress, Shelf, ShelfEntry, ShelfSettings
from catalog.shelves.services import ReadingDates
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from tests.support.state_machines import SEEDS
from tests.support.warm_mirrors import rebuild

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]

MIRRORS = ["shelf_entry", "earlier_reading", "shelf_settings"]
TODAY = date(2026, 5, 4)
SHELVES = list(Shelf)


@pytest.fixture
def readers() -> list[User]:
    return User.objects.bulk_create(User(username=f"reader {n}") for n in range(3))


@pytest.fixture
def books() -> list[Book]:
    return Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(4))


def everything(readers: list[User], books: list[Book]) -> list[object]:
    """Return all data that pages get, from Redis or SQL."""
    ids = [reader.pk for reader in readers]
    found: list[object] = [selectors.get_shelf_summary(pk, 2026) for pk in ids]
    for pk in ids:
        for shelf in SHELVES:
            page = selectors.find_shelf_page(pk, shelf)
            found.append(([(entry.fields, entry.book.raw) for entry in page.entries], page.after))
        found += [selectors.find_entry(pk, book.pk) for book in books]
    return found + [selectors.count_readers(book.pk) for book in books]


def assert_equal(readers: list[User], books: list[Book]) -> None:
    """Assert that Redis answers as SQL does, and that no entry is missing, stale or stray."""
    with record() as seen:
        from_redis = everything(readers, books)
    assert seen.sql == []
    with sql_only():
        assert everything(readers, books) == from_redis
    assert verify(MIRRORS) == []


def _shelve(random: Random, user: int, book: int) -> None:
    services.put_on_shelf(user, book, random.choice(SHELVES), TODAY - timedelta(days=random.randrange(400)))


def _rate(random: Random, user: int, book: int) -> None:
    services.rate_book(user, book, random.choice([None, 1, 3, 10]), TODAY)


def _date(random: Random, user: int, book: int) -> None:
    choices = [ReadingDates(), ReadingDates(None, TODAY), ReadingDates.of_year(2025)]
    services.set_reading_dates(user, book, random.choice(choices)._asdict())


def _read_earlier(random: Random, user: int, book: int) -> None:
    choices = [ReadingDates(), ReadingDates(None, date(2026, 2, 3)), ReadingDates.of_year(2026)]
    with suppress(NotPossible):
        add_reading(user, book, random.choice(choices), is_finished=random.random() < 0.7)


def _forget_reading(random: Random, user: int, book: int) -> None:
    for pk in EarlierReading.objects.filter(user=user).values_list("pk", flat=True)[:1]:
        delete_reading(user, pk)


def _advance(random: Random, user: int, book: int) -> None:
    with suppress(NotPossible):
        note_progress(user, book, Position(percent=random.randrange(101)), "so far", TODAY)


def _update_readings_in_bulk(random: Random, user: int, book: int) -> None:
    EarlierReading.objects.filter(book_id=book).update(is_finished=random.random() < 0.5)
    ReadingProgress.objects.filter(book_id=book).update(page=random.randrange(300), percent=None)


def _remove(random: Random, user: int, book: int) -> None:
    services.remove_from_shelf(user, book)


def _hide(random: Random, user: int, book: int) -> None:
    services.set_privacy(user, random.choice(SHELVES), random.choice(list(Privacy)))


def _plan(random: Random, user: int, book: int) -> None:
    services.set_goal(user, 2026, random.choice([None, 12, 30]))


def _deactivate(random: Random, user: int, book: int) -> None:
    User.objects.filter(pk=user).update(is_active=random.random() < 0.6)


def _update_in_bulk(random: Random, user: int, book: int) -> None:
    ShelfEntry.objects.filter(book_id=book).update(shelf=random.choice(SHELVES), stars=4)


def _delete_by_raw_sql(random: Random, user: int, book: int) -> None:
    with connection.cursor() as cursor:
        for table in ("readingprogress", "earlierreading", "shelfentry"):
            cursor.execute(f"DELETE FROM catalog_{table} WHERE user_id = %s", [user])


def _forget_settings(random: Random, user: int, book: int) -> None:
    ShelfSettings.objects.filter(pk=user).delete()


def _roll_back(random: Random, user: int, book: int) -> None:
    with transaction.atomic():
        _shelve(random, user, book)
        transaction.set_rollback(True)


OPERATIONS: list[Callable[[Random, int, int], None]] = [
    _shelve, _shelve, _shelve, _rate, _rate, _date, _read_earlier, _read_earlier,
    _forget_reading, _advance, _advance, _update_readings_in_bulk, _remove, _hide, _plan, _deactivate, _update_in_bulk,
    _delete_by_raw_sql, _forget_settings, _roll_back,
]  # fmt: skip


@pytest.mark.parametrize("seed", SEEDS)
def test_redis_equals_sql_and_a_rebuild_after_any_operations(
    seed: int, readers: list[User], books: list[Book], redis: Redis
) -> None:
    rebuild()
    random = Random(seed)
    for number in range(60):
        random.choice(OPERATIONS)(random, random.choice(readers).pk, random.choice(books).pk)
        if number % 10 == 9:
            drain_all()
            assert_equal(readers, books)
    live = everything(readers, books)
    redis.flushall()
    rebuild()
    assert everything(readers, books) == live


def test_deleting_a_book_or_a_reader_removes_their_entries(
    readers: list[User], books: list[Book], redis: Redis
) -> None:
    rebuild()
    for reader in readers:
        for book in books:
            services.put_on_shelf(reader.pk, book.pk, Shelf.READ, TODAY)
            services.rate_book(reader.pk, book.pk, 5, TODAY)
    drain_all()
    gone = books[0].pk
    readers[0].delete()
    books[0].delete()
    drain_all()
    assert_equal(readers[1:], books[1:])
    assert not redis.exists(keys.readers_of(gone), keys.stars_of(gone))


def test_private_shelves_do_not_count(readers: list[User], books: list[Book]) -> None:
    rebuild()
    for reader in readers:
        services.rate_book(reader.pk, books[0].pk, 8, TODAY)
        services.put_on_shelf(reader.pk, books[1].pk, Shelf.WANT, TODAY)
    services.set_privacy(readers[0].pk, Shelf.READ, Privacy.ME)
    services.set_privacy(readers[1].pk, Shelf.WANT, Privacy.FOLLOWERS)
    drain_all()
    assert (selectors.count_readers(books[0].pk).ratings, selectors.count_readers(books[0].pk).mean) == (2, 4.0)
    assert selectors.count_readers(books[1].pk).counts[Shelf.WANT] == 2


def test_the_cost_of_a_change_does_not_depend_on_the_number_of_readers(books: list[Book]) -> None:
    readers = User.objects.bulk_create(User(username=f"one of many {n}") for n in range(300))
    ShelfEntry.objects.bulk_create(
        ShelfEntry(user=reader, book=books[0], shelf=Shelf.READ, stars=3, shelved_on=TODAY) for reader in readers[1:]
    )
    rebuild()

    def cost(book: Book) -> tuple[int, int]:
        services.rate_book(readers[0].pk, book.pk, None, TODAY)
        drain_all()
        with record() as seen:
            services.rate_book(readers[0].pk, book.pk, 5, TODAY)
            drain_all()
        return len(seen.commands), len(seen.sql)

    assert cost(books[0]) == cost(books[1])


def test_redis_and_sql_page_a_long_shelf_alike(readers: list[User]) -> None:
    made = Book.objects.bulk_create(Book(title=f"Book {n}") for n in range(50))
    ShelfEntry.objects.bulk_create(
        ShelfEntry(
            user=readers[0],
            book=book,
            shelf=Shelf.READ,
            shelved_on=TODAY,
            finished_on=None if n % 5 == 0 else TODAY - timedelta(days=n // 4),
        )
        for n, book in enumerate(made)
    )
    rebuild()

    def walk() -> list[int]:
        page = selectors.find_shelf_page(readers[0].pk, Shelf.READ)
        found = [entry.book["id"] for entry in page.entries]
        while page.after:
            page = selectors.find_shelf_page(readers[0].pk, Shelf.READ, page.after)
            found += [entry.book["id"] for entry in page.entries]
        return found

    from_redis = walk()
    assert len(set(from_redis)) == len(from_redis) == 50
    with sql_only():
        assert walk() == from_redis
    assert selectors.get_shelf_summary(readers[0].pk, 2026).finished == 40


def test_shelves_are_read_in_few_round_trips(readers: list[User], books: list[Book]) -> None:
    services.rate_book(readers[0].pk, books[0].pk, 5, TODAY)
    rebuild()
    for ask, trips in (
        (lambda: selectors.get_shelf_summary(readers[0].pk, 2026), 1),
        (lambda: selectors.find_shelf_page(readers[0].pk, Shelf.READ), 2),
        (lambda: selectors.find_entry(readers[0].pk, books[0].pk), 1),
        (lambda: selectors.count_readers(books[0].pk), 1),
    ):
        with record() as seen:
            assert ask()
        assert (seen.round_trips, seen.sql) == (trips, [])
