"""Finding books in SQL, compared with a check of each book."""

from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings

from catalog.books.records import load_book_records
from catalog.listing import sql
from catalog.listing.filters import read_filters
from catalog.models import Book, Tag
from catalog.query import Node, evaluate, find_terms, parse
from mirror.relay import tables
from tests.support.catalog.make import make_book, make_books, make_links, make_products
from tests.support.catalog.queries import FIELDS, NAMES, ORDERS, nodes, sort_positions

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]
TITLES = ["Zebra", "apple", "Apple", "Ärger", "éclair", "鹿鼎记", "𝔘nicode", "zoo", "Zoo", "a b", "ab", "a-b", "_x"]


@pytest.fixture
def shelf() -> dict[int, set[str]]:
    """The tags of books by id. Some books have equal titles, years and popularities."""
    books = make_books(
        Book(title=TITLES[i % len(TITLES)], popularity=i * 7 % 5, year=[None, -300, 0, 1999, 2004][i % 5])
        for i in range(40)
    )
    names = {
        book.pk: {n for j, n in enumerate(NAMES) if (i >> (j % 5)) & 1 or i % 11 == j} for i, book in enumerate(books)
    }
    make_links([(book, name) for book in books for name in sorted(names[book.pk])])
    make_products(books)
    tables.catch_up(["title_key"], len(books))
    return names


def _matching(node: Node | None, shelf: dict[int, set[str]]) -> set[int]:
    if node is None:
        return set(shelf)
    return evaluate(node, lambda name: {pk for pk, names in shelf.items() if name in names}, lambda: set(shelf))


@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(node=nodes())
def test_sql_equals_evaluation_with_sets(shelf: dict[int, set[str]], node: Node) -> None:
    truth = _matching(node, shelf)
    assert set(sql.filter_books(node).values_list("pk", flat=True)) == truth
    assert sql.filter_books(node).count() == len(truth)
    counts = {name: sum(name in shelf[pk] for pk in truth) for name in set(NAMES) - find_terms(node)}
    expected = sorted(((name, n) for name, n in counts.items() if n), key=lambda facet: (-facet[1], facet[0]))
    assert sql.find_facets(sql.filter_books(node), 5, find_terms(node)) == expected[:5]


def test_without_a_query_all_books_are_found(shelf: dict[int, set[str]]) -> None:
    assert sql.filter_books(None).count() == len(shelf)
    most = max(sum(n in names for names in shelf.values()) for n in NAMES)
    assert sql.find_facets(sql.filter_books(None), 1)[0][1] == most


def test_an_unknown_tag_matches_no_book_and_its_negation_all(shelf: dict[int, set[str]]) -> None:
    assert sql.filter_books(parse("nobody-uses-this")).count() == 0
    assert sql.find_facets(sql.filter_books(parse("nobody-uses-this"))) == []
    assert sql.filter_books(parse("-nobody-uses-this")).count() == len(shelf)


def test_the_count_of_an_answer_equals_the_books_found(shelf: dict[int, set[str]]) -> None:
    filters = read_filters({"year_from": "1900"}).narrowings
    for text in ["a", "nobody-uses-this", "a | b", "-a"]:
        node = parse(text)
        for narrowings in ((), filters):
            count = sql.count_books(node, narrowings, sql.find_tag_ids(node))
            assert count == len(sql.filter_books(node, narrowings))


def test_tags_and_languages_are_counted_in_all_books() -> None:
    for number in range(4):
        make_book(tags=f"all t{number}", popularity=number, language=["de", "en", "de", "fr"][number])
    assert sql.find_facets(sql.filter_books(None), 3) == [("all", 4), ("t0", 1), ("t1", 1)]
    assert sql.find_facets(sql.filter_books(parse("all - t3")), 5, ["all", "t3"]) == [("t0", 1), ("t1", 1), ("t2", 1)]
    assert sql.count_languages(5) == [("de", 2), ("en", 1), ("fr", 1)]


def _by_python(order: str, pks: set[int]) -> list[sql.Position]:
    books = Book.objects.filter(pk__in=pks).select_related("product")
    return sort_positions(order, ((_key(order.removeprefix("-"), book), book.pk) for book in books))


def _key(order: str, book: Book) -> Any:
    if order != "price":
        key = getattr(book, FIELDS[order])
        return float(key) if order == "rating" and key is not None else key
    product = getattr(book, "product", None)
    return product.price if product and product.is_active else None


TEXTS = ["", "a | b", "-a", "a & b & c & d & e"]


@pytest.mark.parametrize("order", ORDERS)
def test_pages_are_consecutive_in_the_sort_order_of_python(shelf: dict[int, set[str]], order: str) -> None:
    for text in TEXTS:
        node = parse(text)
        found: list[sql.Position] = []
        after = None
        while page := sql.find_page(sql.filter_books(node), order, after, 3):
            found += page
            after = page[-1]
        assert found == _by_python(order, _matching(node, shelf))


POSITIONS = [
    ("popular", (3, 0)),
    ("popular", (-1, 10**9)),
    ("newest", (1500, 10**9)),
    ("newest", (None, 0)),
    ("title", ("apple\U0010ffff", 1)),
    ("title", ("", 0)),
    ("price", (500, 0)),
    ("price", (7, 10**9)),
    ("price", (None, 0)),
    ("rating", (4.1, 10**9)),
    ("-rating", (None, 10**9)),
    ("-popular", (2, 0)),
    ("-title", ("apple", 10**9)),
]


def test_a_page_may_continue_after_a_position_without_a_book(shelf: dict[int, set[str]]) -> None:
    for order, after in POSITIONS:
        with_after = sort_positions(order, [*_by_python(order, set(shelf)), after])
        assert sql.find_page(sql.filter_books(None), order, after, 100) == with_after[with_after.index(after) + 1 :]


def test_conditions_name_tags_by_id_because_postgresql_knows_the_frequency_of_ids(shelf: dict[int, set[str]]) -> None:
    node = parse("a | b - c")
    with CaptureQueriesContext(connection) as captured:
        ids = sql.find_tag_ids(node)
        assert len(sql.filter_books(node, tag_ids=ids)) > 0
    assert ids == dict(Tag.objects.filter(name__in=["a", "b", "c"]).values_list("name", "pk"))
    _tags, books = (query["sql"] for query in captured.captured_queries)
    assert "JOIN" not in books


@pytest.mark.only_on("postgres")
@pytest.mark.parametrize("order", ["popular", "-popular", "newest", "-newest"])
def test_a_page_of_all_books_is_read_in_the_order_of_an_index(shelf: dict[int, set[str]], order: str) -> None:
    books = sql.filter_books(None)
    page = sql.find_page(books, order, None, 3)
    with CaptureQueriesContext(connection) as captured:
        sql.find_page(books, order, page[-1], 3)
    (query,) = captured.captured_queries
    with connection.cursor() as cursor:
        # Of a few books: PostgreSQL sorts them only if no index has their order.
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        cursor.execute(f"EXPLAIN {query['sql']}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "Sort" not in plan
    assert "Index Cond" in plan


def test_text_is_compared_by_code_point_regardless_of_the_default_collation(sqlite: bool) -> None:
    make_book(tags="a")
    books = sql.filter_books(parse("a"))
    with CaptureQueriesContext(connection) as captured:
        sql.find_page(books, "title", ("x", 1), 5)
        sql.find_facets(books, 5)
    page, facets = (query["sql"] for query in captured.captured_queries)
    wanted = "BINARY" if sqlite else 'COLLATE "C"'
    assert wanted in facets
    assert sqlite or page.count(wanted) >= 2  # in ORDER BY and in WHERE


def test_any_number_of_records_takes_four_statements() -> None:
    pks = [make_book(tags=f"a b t{i}", authors=f"A{i}").pk for i in range(30)]
    with CaptureQueriesContext(connection) as captured:
        assert len(load_book_records(pks)) == 30
    assert len(captured) == 4


def test_a_tag_deleted_while_records_are_read_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from catalog.books import records

    book = make_book(tags="stays goes")
    tags = records._read_tag_names

    def meanwhile(cursor: CursorWrapper, ids: set[int]) -> records.TagNames:
        Tag.objects.filter(name="goes").delete()
        return tags(cursor, ids)

    monkeypatch.setattr(records, "_read_tag_names", meanwhile)
    assert load_book_records([book.pk])[0]["tags"] == ["stays"]
