"""Finding and reading books: Redis with the copy, and SQL, give the same answers."""

import random
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given
from hypothesis import settings as trying
from pytest_django.fixtures import Settings
from redis import Redis

from catalog import keys
from catalog.listing import sql
from catalog.listing.results import BookList
from catalog.local.index import local_copy
from catalog.models import Book, Tag
from catalog.query import Node, format_query, parse
from catalog.selectors import find_books, get_book
from mirror.redis.clients import breaker
from mirror.redis.recorder import Recording, record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from tests.support.catalog.make import make_authors, make_book, make_books, make_links, make_products
from tests.support.catalog.queries import NAMES, ORDERS, nodes
from tests.support.catalog.warm import find_all_pages, find_both_ways, own_copy, shown, warm_up
from tests.support.servers import RedisServer
from tests.support.timeouts import hung

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_copy"),
    pytest.mark.also_on("cluster"),
]
__all__ = ["own_copy"]
TITLES = ["Zebra", "apple", "Apple", "Ärger", "éclair", "鹿鼎记", "𝔘nicode", "zoo", "a b", "a-b", "_x"]


@transaction.atomic
def _fill(books: int = 70) -> None:
    """Create more than three pages of books, some with equal titles, years and popularities."""
    made = make_books(
        Book(
            title=TITLES[n % len(TITLES)],
            popularity=n * 7 % 5,
            year=[None, -300, 0, 1999, 2004][n % 5],
            rating=n % 5 + 0.25 if n % 4 else None,
        )
        for n in range(books)
    )
    make_authors((book, name) for n, book in enumerate(made) for name in ("Zoë", "Adam") if n % 3)
    make_links([(book, name) for n, book in enumerate(made) for j, name in enumerate(NAMES) if (n >> (j % 5)) & 1])
    make_products(made)


@pytest.fixture
def shelf() -> None:
    _fill()
    warm_up()


def test_the_examples_of_the_seed_hold() -> None:
    ruby, rails, erlang = make_book(tags="ruby"), make_book(tags="ruby web"), make_book(tags="erlang")
    warm_up()
    assert [book["id"] for book in find_both_ways("ruby & web").books] == [rails.pk]
    assert [book["id"] for book in find_both_ways("ruby - web").books] == [ruby.pk]
    assert {book["id"] for book in find_both_ways("web | erlang").books} == {rails.pk, erlang.pk}


@pytest.mark.parametrize("text", ["", "a", "-a", "a | young-adult", "武侠 - a", '"a b" & "\\""', "nobody"])
def test_redis_and_sql_show_the_same_on_every_page_to_the_end(shelf: None, text: str) -> None:
    for sort in ORDERS:
        assert set(find_all_pages(text, sort)) == set(sql.filter_books(parse(text)).values_list("pk", flat=True)), sort


def test_redis_and_sql_show_the_same_for_any_query(shelf: None) -> None:
    @trying(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.nested_given, HealthCheck.too_slow])
    @given(node=nodes())
    def same(node: Node) -> None:
        find_both_ways(format_query(node), random.choice(ORDERS))

    same()


def test_a_brief_list_has_the_same_books_and_sql_counts_nothing(shelf: None) -> None:
    books = find_books("a").books
    assert find_books("a", is_brief=True).books == books
    with sql_only(), CaptureQueriesContext(connection) as captured:
        assert find_books("a", is_brief=True).books == books
    assert not any("AS books" in query["sql"] or "__count" in query["sql"] for query in captured)


def _after_news(text: str, sort: str = "", after: str = "") -> BookList:
    """Drain all changes, and return a page after checking that it equals that of SQL."""
    drain_all()
    first = shown(find_books(text, sort, after))
    page = find_both_ways(text, sort, after)
    assert shown(page) == first
    return page


def test_a_write_shows_in_the_next_answer(shelf: None) -> None:
    book = make_book("Brand new", tags="a brand-new", popularity=99)
    assert [found["title"] for found in _after_news("brand-new").books] == ["Brand new"]
    Book.objects.filter(pk=book.pk).update(title="Not so new")
    assert [found["title"] for found in _after_news("brand-new").books] == ["Not so new"]
    Tag.objects.filter(name="brand-new").update(name="well-worn")
    assert _after_news("brand-new").count == 0
    assert _after_news("well-worn & a").count == 1
    book.delete()
    assert _after_news("well-worn").count == 0


def test_new_changes_cost_a_second_round_trip_and_no_sql(shelf: None) -> None:
    make_book("Brand new", tags="a brand-new")
    with record() as seen:
        assert find_books("brand-new").count == 1
    assert (seen.round_trips, seen.sql) == (2, [])


def test_a_page_continues_at_its_cursor_even_if_books_are_added_or_deleted(shelf: None) -> None:
    first = find_both_ways("", "title")
    last = first.books[-1]["id"]
    make_book("!", tags="a")  # comes before the cursor
    Book.objects.get(pk=last).delete()
    second = _after_news("", "title", first.next or "")
    assert first.books[-1]["sort_title"] <= second.books[0]["sort_title"]
    assert not {book["id"] for book in first.books} & {book["id"] for book in second.books}


@pytest.mark.parametrize("after", ["x", "WyJ0aXRsZSIsIngiLDFd:abc", "\0", "é" * 5000])
def test_an_invalid_cursor_means_the_first_page(shelf: None, after: str) -> None:
    assert shown(find_both_ways("a", "title", after)) == shown(find_both_ways("a", "title"))


def test_a_cursor_of_another_order_means_the_first_page(shelf: None) -> None:
    cursor = find_both_ways("a", "title").next
    assert cursor
    assert shown(find_both_ways("a", "popular", cursor)) == shown(find_both_ways("a", "popular"))


def test_an_unknown_order_falls_back_to_the_most_read(shelf: None) -> None:
    page = find_both_ways("a", "by-colour")
    assert (page.sort, [sort.name for sort in page.sorts if sort.is_current]) == ("popular", ["popular"])


@pytest.mark.parametrize(("text", "position"), [("ruby &", 5), ("((", 1), ("a" * 10_000, 2000)])
def test_an_invalid_query_uses_neither_redis_nor_sql(text: str, position: int) -> None:
    with record() as seen:
        page = find_books(text)
    assert (seen.round_trips, seen.sql) == (0, [])
    assert page.error is not None
    assert page.error.position == position
    assert (page.count, page.books, page.next, page.facets, page.chips) == (0, [], None, [], [])


def test_facets_narrow_and_chips_widen(shelf: None) -> None:
    page = find_both_ways("a - b")
    narrower = page.facets[0]
    assert narrower.name not in ("a", "b")
    assert find_both_ways(narrower.query).count == narrower.count
    assert [(chip.name, chip.is_excluded, chip.query) for chip in page.chips] == [
        ("a", False, "-b"),
        ("b", True, "a"),
    ]
    assert find_both_ways(page.chips[1].query).count > page.count


def test_addresses_keep_query_and_order(shelf: None) -> None:
    page = find_both_ways("a & b", "title")
    assert page.facets[0].url.startswith("/books/?q=a+%26+b+%26+")
    assert all(facet.url.endswith("&sort=title") for facet in page.facets)
    assert page.chips[0].url == "/books/?q=b&sort=title"
    names = ["popular", "newest", "rating", "title", "price"]
    assert [sort.name for sort in page.sorts] == [name for each in names for name in (each, f"-{each}")]
    assert [sort.url for sort in page.sorts][:3] == [
        "/books/?q=a+%26+b",
        "/books/?q=a+%26+b&sort=-popular",
        "/books/?q=a+%26+b&sort=newest",
    ]


@pytest.mark.parametrize(
    ("current", "wide"), [("popular", ["-price"]), ("title", ["-title", "-price"]), ("-rating", ["-rating", "-price"])]
)
def test_wide_pages_name_the_reverses_of_prices_and_of_the_current_order(
    shelf: None, current: str, wide: list[str]
) -> None:
    links = find_both_ways("a", current).sorts
    assert [link.name for link in links if link.is_current] == [current]
    assert [link.name for link in links if link.name.startswith("-") and not link.is_narrow] == wide


def test_an_unknown_tag_comes_with_similar_tags(shelf: None) -> None:
    Tag.objects.create(name="yung-adult")  # exists, but is on no book
    page = find_both_ways("a & yung-adult")
    (unknown,) = page.unknown_tags
    assert (unknown.name, [(tag.name, tag.query) for tag in unknown.similar]) == (
        "yung-adult",
        [("young-adult", "a & young-adult")],
    )


def test_a_book_costs_one_round_trip_and_no_sql_even_if_it_does_not_exist(shelf: None) -> None:
    made = Book.objects.order_by("pk")[1]
    with record() as seen:
        book = get_book(made.pk)
    assert (seen.round_trips, seen.sql) == (1, [])
    assert book is not None
    assert book["title"] == made.title
    assert book["authors"] == ["Zoë", "Adam"]
    with record() as seen:
        assert get_book(made.pk + 100_000) is None
    assert (seen.round_trips, seen.sql) == (1, [])
    with sql_only():
        by_sql = get_book(made.pk)
        assert by_sql is not None
        assert by_sql.raw == book.raw
        assert get_book(made.pk + 100_000) is None


@pytest.mark.parametrize("pk", [0, -1, 2**63, 10**30])
def test_impossible_ids_are_no_book(pk: int) -> None:
    with record() as seen:
        assert get_book(pk) is None
    assert (seen.round_trips, seen.sql) == (0, [])


def test_a_record_is_parsed_on_first_access(shelf: None) -> None:
    book = get_book(Book.objects.order_by("pk")[0].pk)
    assert book is not None
    assert book._fields is None
    assert book["tags"] == sorted(book["tags"])
    assert {**book}.keys() >= {"id", "title", "authors", "tags", "year", "rating"}
    assert len(book) == len(book.fields)


# --- without Redis ------------------------------------------------------------------------------


@pytest.fixture
def expected(shelf: None) -> dict[str, Any]:
    """The page that a warm catalogue shows."""
    return shown(find_both_ways("a - b", "title"))


def _is_answered_by_sql(expected: dict[str, Any]) -> Recording:
    with record() as seen:
        assert shown(find_books("a - b", "title")) == expected
        book = get_book(Book.objects.order_by("pk")[0].pk)
    assert book is not None
    assert seen.sql
    return seen


def test_sql_answers_for_a_cold_mirror(expected: dict[str, Any], redis: Redis) -> None:
    redis.flushdb()
    _is_answered_by_sql(expected)


def test_sql_answers_for_a_lost_record(shelf: None, redis: Redis) -> None:
    page = find_books("")
    redis.delete(keys.book(page.books[3]["id"]))
    with record() as seen:
        assert shown(find_books("")) == shown(page)
    assert seen.sql


@pytest.fixture
def private(redis_server: RedisServer, shelf: None) -> RedisServer:
    """A Redis server for this test alone, with a warm catalogue."""
    return redis_server


def test_sql_answers_alike_while_redis_is_stopped(private: RedisServer) -> None:
    before = shown(find_both_ways("a - b", "title"))
    private.kill()
    _is_answered_by_sql(before)
    private.start()
    breaker.reset()
    drain_all()
    warm_up()
    assert shown(find_both_ways("a - b", "title")) == before


def test_sql_answers_alike_while_redis_hangs(private: RedisServer, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BREAKER_SECONDS": 60}
    before = shown(find_both_ways("a - b", "title"))
    with hung(private):
        seen = _is_answered_by_sql(before)
    assert seen.round_trips == 1  # no further attempts after the first time-out


def test_sql_answers_alike_before_the_copy_is_loaded(expected: dict[str, Any]) -> None:
    local_copy.forget()
    _is_answered_by_sql(expected)
    assert local_copy.ensure_loaded()
    assert shown(find_both_ways("a - b", "title")) == expected
