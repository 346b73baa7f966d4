"""Replays tell whether the reads of a block would give the same replies now."""

import orjson
import pytest
from django.db import connection
from redis import Redis

from catalog.mirrors import BookMirror
from catalog.models import Book
from mirror import together
from mirror.read import PastReads, fetch, read
from mirror.redis import Recording, client, record
from mirror.relay.drains import drain_all
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def book() -> Book:
    """A book whose mirror is warm."""
    book = make_book("The Book of Sand")
    rebuild(["book"])
    return book


def record_reads(book: Book) -> Recording:
    with record() as seen:
        BookMirror.get(book.pk)
        read(["book"], lambda pipe: pipe.zrange("books:popular", 0, 5, withscores=True))
        read(["book"], lambda pipe: pipe.smembers("no such set"))
    return seen


def is_current(reads: PastReads) -> bool:
    ahead = fetch(reads.asked)
    return ahead is not None and reads.is_answered_by(ahead.needed)


def remember_reads(book: Book) -> PastReads:
    reads = PastReads.of(record_reads(book))
    assert reads is not None
    return reads


def test_it_is_answered_alike_until_the_data_change(book: Book) -> None:
    reads = remember_reads(book)
    assert reads.asked.mirrors == ("book",)
    with record() as seen:
        assert is_current(reads)
    assert (seen.round_trips, seen.sql) == (1, [])
    Book.objects.filter(pk=book.pk).update(title="The Book of Stone")
    drain_all()
    assert not is_current(reads)
    Book.objects.filter(pk=book.pk).update(title="The Book of Sand")
    drain_all()
    assert is_current(reads)


def test_it_is_equal_in_another_process(book: Book) -> None:
    reads = remember_reads(book)
    other = PastReads.from_json(orjson.loads(orjson.dumps(reads.to_json())))
    assert other == reads
    assert is_current(other)


def test_reads_together_name_their_mirrors(book: Book) -> None:
    """Otherwise nobody would ask whether these mirrors are warm and right."""
    with record() as seen, together() as reads:
        reads(BookMirror.get, book.pk)
        reads(BookMirror.get_many, [book.pk])
    past = PastReads.of(seen)
    assert past is not None
    assert past.asked.mirrors == ("book",)
    assert is_current(past)


def test_a_rebuilt_mirror_answers_differently(book: Book) -> None:
    """A copy in the process may have been made of the data before."""
    reads = remember_reads(book)
    rebuild(["book"])
    assert not is_current(reads)


def test_a_cold_mirror_does_not_answer(book: Book, redis: Redis) -> None:
    reads = remember_reads(book)
    redis.flushdb()
    assert not is_current(reads)
    assert PastReads.of(record_reads(book)) is None


def test_a_block_that_asks_sql_is_not_remembered(book: Book) -> None:
    with record() as seen, connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert PastReads.of(seen) is None


def test_a_block_that_asks_redis_beside_its_reads_is_not_remembered(book: Book) -> None:
    with record() as seen:
        BookMirror.get(book.pk)
        client().get("something else")
    assert PastReads.of(seen) is None


def test_replies_of_two_moments_are_not_remembered(book: Book) -> None:
    with record() as seen:
        BookMirror.get(book.pk)
        Book.objects.filter(pk=book.pk).update(title="The Book of Stone")
    drain_all()
    with record() as later:
        BookMirror.get(book.pk)
    both = Recording(replies=seen.replies + later.replies, generations=later.generations)
    assert PastReads.of(later) is not None
    assert PastReads.of(both) is None
