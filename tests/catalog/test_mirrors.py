"""The mirrors of books and tags."""

from collections.abc import Callable

import orjson
import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from redis import Redis

from catalog import keys, mirrors
from catalog.books import links
from catalog.books.records import load_book_records
from catalog.models import Author, Book, Tag, Tagging
from catalog.values.collation import make_sort_key
from mirror import registry
from mirror.declare.entries import single
from mirror.relay import drains
from mirror.verify.runs import verify
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.also_on("cluster")

rows = pytest.mark.django_db
commits = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shelf() -> dict[str, Book]:
    """Three books, one of them without tags and authors."""
    return {
        "dune": make_book("Dune", tags="sf Classics", authors="Frank Herbert", year=1965, popularity=900),
        "tao": make_book("Tao Te Ching", tags="classics 道", authors="Laozi,Ursula K. Le Guin", year=-350),
        "bare": make_book("Bare"),
    }


@commits
def test_a_book_has_a_record_and_entries_in_sets_of_tags_and_orders(shelf: dict[str, Book], redis: Redis) -> None:
    rebuild()
    tao, bare = shelf["tao"], shelf["bare"]
    assert orjson.loads(redis.get(keys.book(tao.pk)) or b"") == load_book_records([tao.pk])[0]
    assert redis.smembers(keys.tag("classics")) == {str(shelf[name].pk).encode() for name in ("dune", "tao")}
    assert redis.zscore(keys.popular(), str(shelf["dune"].pk)) == 900
    assert redis.zscore(keys.newest(), str(tao.pk)) == -350
    assert redis.zscore(keys.newest(), str(bare.pk)) == mirrors.UNKNOWN_YEAR
    assert redis.zrange(keys.titles(), 0, -1) == [
        f"{make_sort_key(book.title.lower())}\0{book.pk}".encode() for book in (bare, shelf["dune"], tao)
    ]


@commits
def test_tag_names_can_be_searched_by_prefix(shelf: dict[str, Book], redis: Redis) -> None:
    rebuild()
    found = redis.zrangebylex(keys.tag_names(), "[cl", "[cl\xff")
    assert [member.decode().partition("\0")[0] for member in found] == ["classics"]
    tag = Tag.objects.get(name="classics")
    assert orjson.loads(redis.get(keys.tag_record(tag.pk)) or b"") == {"id": tag.pk, "name": "classics"}


def _rename_a_tag(shelf: dict[str, Book]) -> None:
    Tag.objects.filter(name="classics").update(name="Old Books")


def _delete_a_tag(shelf: dict[str, Book]) -> None:
    Tag.objects.filter(name="classics").delete()


def _rename_an_author(shelf: dict[str, Book]) -> None:
    Author.objects.filter(name="Laozi").update(name="Lao Tzu")


def _delete_an_author(shelf: dict[str, Book]) -> None:
    Author.objects.get(name="Frank Herbert").delete()


def _change_books(shelf: dict[str, Book]) -> None:
    Book.objects.update(year=None, popularity=3, title="All alike")


def _tag_in_bulk(shelf: dict[str, Book]) -> None:
    links, tag = Tagging, Tag.objects.create(name="new")
    links.objects.bulk_create(links(book=book, tag=tag) for book in shelf.values())


def _clear_tags(shelf: dict[str, Book]) -> None:
    shelf["dune"].tags.clear()


def _delete_books(shelf: dict[str, Book]) -> None:
    Book.objects.filter(pk=shelf["dune"].pk).delete()


@commits
@pytest.mark.parametrize(
    "change",
    [
        _rename_a_tag,
        _delete_a_tag,
        _rename_an_author,
        _delete_an_author,
        _change_books,
        _tag_in_bulk,
        _clear_tags,
        _delete_books,
    ],
)
def test_redis_equals_sql_after_any_drained_change(
    shelf: dict[str, Book], redis: Redis, change: Callable[[dict[str, Book]], None]
) -> None:
    rebuild()
    before = {key: redis.dump(key) for key in redis.scan_iter("*")}
    change(shelf)
    drains.drain_all()
    assert {key: redis.dump(key) for key in redis.scan_iter("*")} != before
    assert verify() == []


@commits
def test_the_sets_follow_a_renamed_tag(shelf: dict[str, Book], redis: Redis) -> None:
    rebuild()
    _rename_a_tag(shelf)
    drains.drain_all()
    assert not redis.exists(keys.tag("classics"))
    assert redis.scard(keys.tag("old books")) == 2


@rows
def test_rows_are_read_in_a_fixed_number_of_statements() -> None:
    pks = [str(make_book(tags=f"a b t{i}", authors=f"A{i}").pk) for i in range(20)]
    tags = [str(pk) for pk in Tag.objects.values_list("pk", flat=True)]
    for name, keys_, most in (("book", pks, 4), ("tag", tags, 1)):
        with CaptureQueriesContext(connection) as captured:
            assert set(registry.get(name).load(keys_)) == set(keys_)
        assert len(captured) == most


@rows
def test_keys_without_rows_are_left_out() -> None:
    for name in ("book", "tag"):
        assert registry.get(name).load(["", "x", "1.5", "-1", "999999999", "٣"]) == {}


@rows
def test_books_of_tags_and_authors_are_distinct_and_read_by_keyset(shelf: dict[str, Book]) -> None:
    tags = [str(pk) for pk in Tag.objects.values_list("pk", flat=True)]
    authors = [str(pk) for pk in Author.objects.values_list("pk", flat=True)]
    dune, tao = str(shelf["dune"].pk), str(shelf["tao"].pk)
    for books_of, values in ((links.find_books_with_tags, tags), (links.find_books_by_authors, authors)):
        assert books_of(values, None, 10) == [dune, tao]
        assert books_of(values, None, 1) == [dune]
        assert books_of(values, dune, 10) == [tao]
        assert books_of(values, tao, 10) == []


@rows
def test_each_entry_belongs_to_a_family_that_knows_its_owner(shelf: dict[str, Book]) -> None:
    for mirror in registry.all_mirrors(["book", "tag"]):
        pks = mirror.keys_after(None, 100)
        for pk, row in mirror.load(pks).items():
            for entry in single(mirror.index(pk, mirror.record(row))):
                owners = [
                    family.owner(entry[0], str(entry[1]))
                    for family in mirror.families()
                    if (entry[0] == family.start if family.whole else entry[0].startswith(family.start))
                ]
                assert owners == [pk]
