"""Lists of the admin: every one takes few bounded statements, and paging reaches the last row."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest
from django.contrib import admin
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import User
from catalog.models import Book
from mirror.admin import count_rows, counting
from mirror.admin.counting import Tally
from tests.support.catalog.make import make_book
from tests.support.matrix.world import MatrixWorld

pytestmark = pytest.mark.django_db

MAX_STATEMENTS: Final = 12
# Tables with few rows by their nature, and an index with unapplied changes only.
SMALL: Final = {
    "auth_group", "auth_permission", "django_content_type", "mirror_state", "mirror_identity",
    "mirror_job", "shop_sale", "sqlite_master",
    "shop_deliverymethod", "shop_deliveryprice", "shop_deliveryzone",
    "SCAN mirror_change USING INDEX mirror_change_by_key",
}  # fmt: skip
# Without these methods PostgreSQL reads a whole table only if no index gives another plan, as if tables were large.
REFUSED: Final = ("enable_seqscan", "enable_hashjoin", "enable_mergejoin", "enable_hashagg", "enable_material")
# Nearly all rows of these tables pass the list's own filter.
PASSING: Final = ("catalog_shelfentry", "accounts_user")
# Forget the statistics that autovacuum took of other tests' rows: then the plans are those of a new database.
_WITHOUT_STATISTICS: Final = """
DELETE FROM pg_statistic;
UPDATE pg_class SET relpages = 0, reltuples = -1
WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace
"""
PARTIAL: Final = ("mirror_change_by_key", "mirror_change_in_order", "accounts_inactive")
BOOKS: Final = "/admin/catalog/book/"


def find_unbounded(sql: str) -> list[str]:
    """Return the steps of the plan that read a whole table: scans without a limit, and scans that are sorted."""
    if not sql.startswith("SELECT"):
        return []
    return (_find_on_postgres if connection.vendor == "postgresql" else _find_on_sqlite)(sql)


def _find_on_sqlite(sql: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        rows = cursor.fetchall()
    parents = {number: parent for number, parent, *_ in rows}
    plan = [(parent, step) for _number, parent, _unused, step in rows]
    tables = re.findall(r"(?:FROM|JOIN) \"(\w+)\" (\w+|)", sql)
    aliases = {alias: table for table, alias in tables}
    sorted_parents = {parent for parent, step in plan if step == "USE TEMP B-TREE FOR ORDER BY"}
    found = []
    for parent, step in plan:
        scan = re.match(r"SCAN (\w+)", step)
        if scan is None or scan[1] in ("CONSTANT", "(subquery") or step in SMALL:
            continue
        # A sort in a subquery does not sort the rows of the whole query.
        is_bounded = "LIMIT" in sql and sorted_parents.isdisjoint(_list_parents(parents, parent))
        if aliases.get(scan[1], scan[1]) not in SMALL and not is_bounded:
            found.append(step)
    return found


def _list_parents(parents: dict[int, int], number: int) -> Iterator[int]:
    """Yield a step of a plan, and the steps above it."""
    while number:
        yield number
        number = parents[number]
    yield 0


def _find_on_postgres(sql: str) -> list[str]:
    """Return the steps that read a whole table in both plans: with sorts, and with an index in the right order."""
    found: list[str] = []
    for refused in (REFUSED, (*REFUSED, "enable_sort")):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_WITHOUT_STATISTICS)
            for name in refused:
                cursor.execute(f"SET LOCAL {name} = off")
            cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
            (plan,) = cursor.fetchone()[0]
            transaction.set_rollback(True)
        found = list(_walk(plan["Plan"], is_limited=False))
        if not found:
            break
    return found


def _walk(node: dict[str, Any], *, is_limited: bool) -> Iterator[str]:
    """Yield the nodes that read a whole table. A limit bounds the nodes below it, except those below a sort.

    It does not bound a scan with a filter, because few rows may pass.
    """
    kind, table = node["Node Type"], node.get("Relation Name", "")
    is_whole = kind == "Seq Scan" or (kind.startswith("Index") and "Index Cond" not in node)
    is_small = table in SMALL or node.get("Index Name", "") in PARTIAL
    if is_whole and not is_small and not (is_limited and ("Filter" not in node or table in PASSING)):
        yield f"{kind} on {table} {node.get('Index Name', '')}"
    below = kind == "Limit" or (is_limited and kind not in ("Sort", "Aggregate", "Hash", "Materialize"))
    for child in node.get("Plans", ()):
        yield from _walk(child, is_limited=below)


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


@pytest.fixture
def world() -> MatrixWorld:
    return MatrixWorld()


def read_statements(staff: Client, address: str, query: dict[str, str]) -> list[str]:
    with CaptureQueriesContext(connection) as seen:
        response = staff.get(address, query)
    assert response.status_code == 200, address
    return [found["sql"] for found in seen.captured_queries]


@pytest.mark.also_on("sqlite")
def test_every_list_takes_few_bounded_statements(
    world: MatrixWorld, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in every order that the list offers."""
    wrong, find_steps = [], cache(find_unbounded)  # most statements of a list are those of all lists
    for model, page in admin.site._registry.items():
        monkeypatch.setattr(page, "list_per_page", 1)
        world.row(model)
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
        html = staff.get(address).content.decode()  # the first request, which also fills caches
        orders = sorted(set(re.findall(r"[?&;]o=(\d+)", html)))
        for query in ({}, {"p": "last"}, *({"o": sign + number} for number in orders for sign in ("", "-"))):
            statements = read_statements(staff, address, query)
            if len(statements) > MAX_STATEMENTS:
                wrong.append(
                    f"{address}: {len(statements)} statements: " + "\n".join(found[:150] for found in statements)
                )
            wrong += [f"{address} {query}: {step}: {sql}" for sql in statements for step in find_steps(sql)]
    assert not wrong, "\n".join(wrong)


@pytest.mark.also_on("sqlite")
def test_home_page_reads_no_whole_table(world: MatrixWorld, staff: Client) -> None:
    staff.get("/admin/")  # fills caches
    wrong = [f"{step}: {sql}" for sql in read_statements(staff, "/admin/", {}) for step in find_unbounded(sql)]
    assert not wrong, "\n".join(wrong)


def test_list_is_not_sorted_by_a_column_without_an_index(staff: Client) -> None:
    make_book("B", popularity=2)
    make_book("A", popularity=1)
    changes = staff.get(f"{BOOKS}?o=2.-3").context["cl"]  # the authors
    assert [book.title for book in changes.result_list] == ["B", "A"]


def read_page(staff: Client, query: str) -> tuple[list[str], dict[str, str | None]]:
    """Return the titles on a page of the books, and the links to other pages by their label."""
    changes = staff.get(f"{BOOKS}{query}").context["cl"]
    return [book.title for book in changes.result_list], dict(changes.places)


@pytest.mark.parametrize("order", ["3", "-3", "1"])
def test_paging_reaches_every_row_in_both_directions(
    order: str, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, year in enumerate([None, 1990, 1990, 2001, None, 2001, None]):
        make_book(f"Book {number}", year=year)
    monkeypatch.setattr(admin.site._registry[Book], "list_per_page", 2)
    wanted = [book.title for book in staff.get(f"{BOOKS}?o={order}&all=").context["cl"].result_list]
    first, links = read_page(staff, f"?o={order}")
    assert links["First"] is links["Previous"] is None
    forward, last = list(first), first
    while links["Next"]:
        last, links = read_page(staff, links["Next"])
        forward += last
    assert forward == wanted
    assert len(wanted) == 7
    backward, links = read_page(staff, f"?o={order}&p=last")
    assert links["Next"] is links["Last"] is None
    assert backward == wanted[-2:]
    while links["Previous"]:
        page, links = read_page(staff, links["Previous"])
        backward = page + backward
    # The first page is a whole one: it may repeat a row of the second.
    assert backward[0] == wanted[0]
    assert list(dict.fromkeys(backward)) == wanted
    assert read_page(staff, f"?o={order}&p=last")[1]["First"] == f"?o={order}"


def test_page_beyond_deleted_rows_is_the_last_one(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    books = [make_book(f"Book {number}", popularity=10 - number) for number in range(5)]
    monkeypatch.setattr(admin.site._registry[Book], "list_per_page", 2)
    links = read_page(staff, "")[1]
    Book.objects.filter(pk__in=[book.pk for book in books[2:]]).delete()
    assert links["Next"]
    assert read_page(staff, links["Next"])[0] == ["Book 0", "Book 1"]
    assert staff.get(f"{BOOKS}?p=after:nonsense").status_code == 302
    assert read_page(staff, "?p=201")[0] == ["Book 0", "Book 1"]


def test_counts_are_exact_or_marked_as_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(12):
        make_book(f"Book {number}")
    assert str(count_rows(Book.objects.all())) == "12"
    monkeypatch.setattr(counting, "MAX_COUNTED_ROWS", 11)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE catalog_book")
        assert str(count_rows(Book.objects.all())) == "about 12"
    else:
        assert str(count_rows(Book.objects.all())) == "more than 11"
    assert str(Tally(399_335, is_estimate=True)) == "about 400,000"
