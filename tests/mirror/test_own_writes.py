"""A request sees its own writes through a mirror before Redis has them: in a transaction, without hints, in streams."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.db import connection, connections, transaction
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from psycopg.sql import SQL, Identifier
from pytest_django.fixtures import Settings

from mirror import Mirror, Names, SetOf, register
from mirror.capture import install
from mirror.middleware import ReadYourWrites
from mirror.read import Asked, fetch, known, own_writes, read
from mirror.redis.recorder import record
from mirror.relay import signals, sql_only
from mirror.relay.statements import ANY, find_table, may_write
from mirror.upkeep import rebuild
from tests.projects.mirrortest.models import Group, Item, Label, Odd
from tests.support.asynchronous import run_asynchronously
from tests.support.mirror.items import drained

pytestmark = [
    pytest.mark.usefixtures("committed", "own_registry", "mirrored"),
    pytest.mark.also_on("cluster"),
]
TABLE = Identifier(Item._meta.db_table)


class OwnItem(Mirror):
    name = "own_item"
    model = Item
    key = "own:{pk}"
    fields = ("name", "group__name")
    indexes = (SetOf("own_names:{value}", over="name"),)


@pytest.fixture(autouse=True)
def no_hurry(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}


@pytest.fixture
def mirrored(own_registry: None) -> None:
    register(OwnItem)
    signals.connect()
    install.install()
    rebuild.rebuild(["own_item"])


@pytest.fixture
def item() -> Item:
    made = Item.objects.create(name="old", group=Group.objects.create(name="group"))
    drained()
    return made


def visit(view: Callable[[], Any]) -> HttpResponse:
    """Answer a request with ``view`` below the middleware, as Django's handler does."""

    def respond(request: HttpRequest) -> HttpResponse:
        response: Any = view()
        return response or HttpResponse()

    return ReadYourWrites(respond)(RequestFactory().get("/"))


def name_of(item: Item) -> Any:
    found = OwnItem.get(item.pk)
    return found and found["name"]


def by_update(item: Item) -> None:
    Item.objects.filter(pk=item.pk).update(name="new")


def by_bulk_update(item: Item) -> None:
    Item.objects.bulk_update([Item(pk=item.pk, name="new")], ["name"])


def by_raw_sql(item: Item) -> None:
    table = connection.ops.quote_name(Item._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET name = 'new' WHERE id = %s", [item.pk])


def by_common_table(item: Item) -> None:
    table = connection.ops.quote_name(Item._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(f"WITH x AS (SELECT 1) UPDATE {table} SET name = 'new' WHERE id = %s", [item.pk])


def by_save(item: Item) -> None:
    item.name = "new"
    item.save()


WRITES = pytest.mark.parametrize("write", [by_save, by_update, by_bulk_update, by_raw_sql, by_common_table])


def test_transaction_reads_the_row_that_it_created() -> None:
    def view() -> None:
        with transaction.atomic():
            created = Item.objects.create(name="new")
            assert name_of(created) == "new"
            assert OwnItem.members("own_names:new") == {created.pk}
        assert name_of(created) == "new"

    visit(view)


def test_transaction_does_not_read_the_row_that_it_deleted(item: Item) -> None:
    def view() -> None:
        with transaction.atomic():
            pk = item.pk
            Item.objects.filter(pk=pk).delete()
            assert OwnItem.get(pk) is None

    visit(view)


@WRITES
@pytest.mark.parametrize("is_atomic", [True, False])
def test_request_reads_the_value_that_it_wrote(write: Callable[[Item], None], is_atomic: bool, item: Item) -> None:
    def view() -> None:
        assert name_of(item) == "old"
        if is_atomic:
            with transaction.atomic():
                write(item)
                assert name_of(item) == "new"
        else:
            write(item)
        assert name_of(item) == "new"
        assert OwnItem.members("own_names:old") == set()

    visit(view)


def test_request_reads_the_changed_row_of_a_source(item: Item) -> None:
    def view() -> None:
        Group.objects.update(name="other")
        found = OwnItem.get(item.pk)
        assert found
        assert found["group__name"] == "other"

    visit(view)


def test_moved_row_is_read_from_sql_in_the_set_that_it_left(own_registry: None) -> None:
    """A hint names the group that the row has now, and not the one before."""

    class OwnGroup(Mirror):
        name = "own_group"
        model = Group
        key = "own_group:{pk}"
        fields = ("name", Names("items"))

    one, two = Group.objects.create(name="one"), Group.objects.create(name="two")
    moved = Item.objects.create(name="moved", group=one)
    register(OwnGroup)
    signals.connect()
    install.install()
    rebuild.rebuild(["own_group"])
    drained()

    def view() -> None:
        moved.group = two
        moved.save()
        assert OwnGroup.get_many([one.pk, two.pk]) == {
            one.pk: {"name": "one", "items": []},
            two.pk: {"name": "two", "items": ["moved"]},
        }

    visit(view)


def test_replies_fetched_before_a_write_are_not_used_after_it(item: Item) -> None:
    def view() -> None:
        ahead = fetch(Asked.of(["own_item"], lambda pipe: pipe.get(f"own:{item.pk}")))
        assert ahead is not None
        with known(ahead):
            assert name_of(item) == "old"
            by_save(item)
            assert name_of(item) == "new"

    visit(view)


@WRITES
def test_async_view_reads_the_value_that_it_wrote(write: Callable[[Item], None], item: Item) -> None:
    async def view() -> None:
        await sync_to_async(write)(item)
        found = await OwnItem.aget(item.pk)
        assert found
        assert found["name"] == "new"

    run_asynchronously(lambda: sync_to_async(visit)(async_to_sync(view)))


@WRITES
def test_streaming_response_reads_the_value_that_it_wrote(write: Callable[[Item], None], item: Item) -> None:
    def iterate() -> Iterator[str]:
        yield name_of(item)
        write(item)
        yield name_of(item)

    response = visit(lambda: StreamingHttpResponse(iterate()))
    assert list(response) == [b"old", b"new"]
    assert not sql_only.in_request()
    assert name_of(item) == "new"  # drained at the end, for the next request


@WRITES
def test_asynchronous_stream_reads_the_value_that_it_wrote(write: Callable[[Item], None], item: Item) -> None:
    async def iterate() -> AsyncIterator[str]:
        yield await sync_to_async(name_of)(item)
        await sync_to_async(write)(item)
        yield await sync_to_async(name_of)(item)

    async def answer() -> list[bytes]:
        response: Any = await sync_to_async(visit)(lambda: StreamingHttpResponse(iterate()))
        return [part async for part in response]

    assert run_asynchronously(answer) == [b"old", b"new"]
    assert name_of(item) == "new"


def test_saved_row_is_read_from_redis_at_once(item: Item) -> None:
    """The hint names the row, and its drain has applied the change: no later read costs a statement."""

    label = Label.objects.create(name="red")
    drained()

    def view() -> None:
        item.name = "new"
        item.save(update_fields=["name"])  # not its group, whose former members a hint would not name
        Item.objects.create(name="another")
        item.labels.add(label)
        with record() as seen:
            assert name_of(item) == "new"
        assert (len(seen.sql), seen.round_trips) == (0, 1)

    visit(view)


def test_mirrors_of_other_tables_are_read_from_redis(item: Item) -> None:
    def view() -> None:
        with transaction.atomic():
            Odd.objects.bulk_create([Odd(code="a")])
            with record() as seen:
                assert name_of(item) == "old"
        assert not seen.sql
        assert sql_only.wanted(["t'odd"])

    visit(view)


@WRITES
def test_transaction_outside_of_requests_reads_the_value_that_it_wrote(
    write: Callable[[Item], None], item: Item
) -> None:
    with transaction.atomic():
        assert name_of(item) == "old"
        with transaction.atomic():
            write(item)
            assert name_of(item) == "new"
        assert name_of(item) == "new"
        assert OwnItem.members("own_names:new") == {item.pk}


def test_rolled_back_transaction_outside_of_requests_is_forgotten(item: Item) -> None:
    with transaction.atomic():
        by_save(item)
        assert name_of(item) == "new"
        transaction.set_rollback(True)
    with record() as seen, transaction.atomic():
        assert name_of(item) == "old"
    assert seen.round_trips == 1
    assert not [text for text, _ in seen.sql if text.startswith("SELECT")]


def test_savepoint_that_is_rolled_back_hides_no_other_write(item: Item) -> None:
    with transaction.atomic():
        by_update(item)
        with transaction.atomic():
            Item.objects.filter(pk=item.pk).update(name="newest")
            assert name_of(item) == "newest"
            transaction.set_rollback(True)
        assert name_of(item) == "new"


def test_transaction_outside_of_requests_reads_other_mirrors_from_redis(item: Item) -> None:
    with transaction.atomic():
        Odd.objects.bulk_create([Odd(code="a")])
        with record() as seen:
            assert name_of(item) == "old"
    assert (len(seen.sql), seen.round_trips) == (0, 1)


def test_committed_save_outside_of_requests_is_read_from_redis(item: Item) -> None:
    with transaction.atomic():
        by_save(item)
    with record() as seen:
        assert name_of(item) == "new"
    assert (len(seen.sql), seen.round_trips) == (0, 1)


def test_transaction_of_a_test_case_does_not_count(item: Item) -> None:
    """Otherwise no test could read from Redis after ``drain_mirrors``."""
    block: Any = transaction.atomic()
    block._from_testcase = True
    with block:
        by_save(item)
        assert name_of(item) == "old"
        with transaction.atomic():
            by_save(item)
            assert name_of(item) == "new"
        assert name_of(item) == "old"


def test_mirror_that_signals_do_not_know_is_read_from_sql(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    """For example one of a proxy, whose signals name the proxy only."""
    watching = [(name, watch) for name, watch in signals._by_model[Item] if name != "own_item"]
    monkeypatch.setattr(signals, "_by_model", defaultdict(list, {Item: watching}))

    def view() -> None:
        by_save(item)
        assert name_of(item) == "new"

    visit(view)


def test_save_of_another_row_does_not_end_the_wait_for_an_update(item: Item) -> None:
    def view() -> None:
        by_update(item)
        Item.objects.create(name="another")
        assert name_of(item) == "new"

    visit(view)


def test_reads_of_a_failed_drain_are_answered_by_sql(item: Item, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: OwnItem, pks: object) -> None:
        raise ValueError("no")

    def view() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(OwnItem, "load", refuse)
            by_save(item)
        assert read(["own_item"], lambda pipe: pipe.get(f"own:{item.pk}")) is None
        assert name_of(item) == "new"

    visit(view)


def test_writes_are_forgotten_with_the_request(item: Item) -> None:
    visit(lambda: by_update(item))
    with sql_only.request():
        assert not sql_only.wanted(["own_item"])


@pytest.mark.parametrize(
    ("sql", "table"),
    [
        ('INSERT INTO "mirrortest_item" ("a") VALUES (1)', "mirrortest_item"),
        ("/* x */ insert or ignore into mirrortest_item(a) values (1)", "mirrortest_item"),
        ('UPDATE "mirrortest_item" SET a = 1', "mirrortest_item"),
        ('DELETE FROM "mirrortest_item"', "mirrortest_item"),
        ('UPDATE ONLY "mirrortest_item" SET a = 1', ANY),
        ("UPDATE unknown SET a = 1", ANY),
        ('TRUNCATE "mirrortest_item"', ANY),
        ("CALL anything()", ANY),
        ("EXECUTE prepared(1)", ANY),
        ("EXPLAIN (COSTS OFF, ANALYZE) DELETE FROM mirrortest_item", ANY),
        ("DELETE FROM unknown; DELETE FROM mirrortest_item", ANY),
        ("SET LOCAL lock_timeout = 1;\n/* x */ UPDATE mirrortest_item SET a = 1;", ANY),
        ("UPDATE mirrortest_item SET a = 1; ", "mirrortest_item"),
        ("WITH x AS (SELECT 1) DELETE FROM mirrortest_item", ANY),
        ("WITH x AS (SELECT 1) SELECT * FROM x", ""),
    ],
)
def test_written_table_is_found_in_a_statement(sql: str, table: str) -> None:
    assert find_table(sql) == table
    assert may_write(sql)


@pytest.mark.parametrize(
    "sql", ["SELECT 1; SELECT 2", "EXPLAIN DELETE FROM mirrortest_item", "SET LOCAL x = 1;", "SELECT '; DELETE'"]
)
def test_statements_that_only_read_are_no_writes(sql: str) -> None:
    assert not may_write(sql)


@pytest.mark.only_on("postgres")
@pytest.mark.parametrize("kind", ["bytes", "SQL", "Composed"])
def test_statement_that_is_no_text_is_noticed(item: Item, kind: str) -> None:
    text = "UPDATE mirrortest_item SET name = 'new'"
    composed = SQL("UPDATE {} SET name = 'new'").format(TABLE)
    statements: dict[str, Any] = {"bytes": text.encode(), "SQL": SQL(text), "Composed": composed}

    def view() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statements[kind])
        assert name_of(item) == "new"

    visit(view)


def test_connection_that_opens_in_a_wrapped_block_is_watched_afterwards() -> None:
    fresh = connection.copy()

    def other(execute: Callable[..., Any], *arguments: Any) -> Any:
        return execute(*arguments)

    with fresh.execute_wrapper(other):
        own_writes._watch_connection(fresh)
    assert fresh.execute_wrappers == [own_writes._note_statement]


def test_connection_that_was_open_before_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections["default"], "execute_wrappers", [])
    own_writes.connect()
    own_writes.connect()
    assert connection.execute_wrappers == [own_writes._note_statement]
