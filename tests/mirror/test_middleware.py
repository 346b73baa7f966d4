"""The request after a write shows it, however it was written and whatever happens to Redis."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from django.db import DatabaseError, OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry
from mirror.middleware import COOKIE, ReadYourWrites
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import breaker
from mirror.redis.recorder import record
from mirror.relay import drains, sql_only
from tests.projects.mirrortest.models import Item, Label, Odd
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]


@pytest.fixture(autouse=True)
def no_hurry(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}


def visit(view: Callable[[], object], cookie: str | None = None) -> HttpResponse:
    """Run ``view`` in a request through the middleware, with this value of the cookie. Return the response."""

    def respond(request: HttpRequest) -> HttpResponse:
        view()
        return HttpResponse()

    request = RequestFactory().get("/")
    if cookie is not None:
        request.COOKIES[COOKIE] = cookie
    return ReadYourWrites(respond)(request)


def cookie(response: HttpResponse) -> str | None:
    """Return the value of the response's cookie: "" if it is deleted, None without one."""
    return response.cookies[COOKIE].value if COOKIE in response.cookies else None


def bulk() -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])


def nothing() -> None:
    pass


def arrived(redis: Redis) -> bool:
    return bool(redis.exists(registry.get("t'odd").record_key("a")))


def by_sql() -> None:
    assert sql_only.wanted()


def by_redis() -> None:
    assert not sql_only.wanted()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE {t} SET {c} = 'a'",
        "  \n update {t} SET {c} = 'a'",
        "/* by hand */ UPDATE {t} SET {c} = 'a'",
        "-- by hand\nUPDATE {t} SET {c} = 'a'",
        "WITH x AS (SELECT 1) UPDATE {t} SET {c} = 'a'",
    ],
)
def test_raw_sql_is_drained_before_the_response(sql: str, redis: Redis) -> None:
    Odd.objects.create(code="old")
    drains.drain_all()
    quote = connection.ops.quote_name
    statement = sql.format(t=quote(Odd._meta.db_table), c=quote("c'ödé; --"))
    response = visit(lambda: connection.cursor().execute(statement))
    assert arrived(redis)
    assert cookie(response) is None


def test_bulk_writes_are_drained_before_the_response(redis: Redis) -> None:
    response = visit(bulk)
    assert arrived(redis)
    assert cookie(response) is None


def test_deleted_rows_and_changed_links_are_drained_before_the_response(redis: Redis) -> None:
    label = Label.objects.create(name="red")
    kept, deleted = Item.objects.create(name="kept"), Item.objects.create(name="deleted")
    deleted.labels.add(label)
    drains.drain_all()

    def write() -> None:
        kept.labels.add(label)
        Item.objects.filter(name="deleted").delete()

    assert cookie(visit(write)) is None
    assert redis.smembers("{tlabel}:red") == {str(kept.pk).encode()}
    assert redis.keys("titem:name:*") == [b"titem:name:kept"]


def test_reading_request_asks_neither_the_outbox_nor_redis() -> None:
    bulk()
    with record() as seen:
        visit(lambda: Odd.objects.count())
    assert (seen.commands, len(seen.sql)) == ([], 1)


def test_writes_to_the_outbox_do_not_count() -> None:
    with record() as seen:
        visit(lambda: changes.append("t'odd", ["a"]))
    assert seen.commands == []


@pytest.mark.parametrize("table", ["shop_mirror_item", "mirror_changes", 'mirror_item"."change'])
def test_writes_to_tables_with_similar_names_count(table: str) -> None:
    def write() -> None:
        with suppress(DatabaseError), transaction.atomic():  # there is no such table
            connection.cursor().execute(f'UPDATE "{table}" SET a = 1')
        assert sql_only.has_written()

    visit(write)


def test_undrained_changes_set_a_cookie_with_the_last_id(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    response = visit(bulk)
    assert cookie(response) == str(Change.objects.order_by("id").last().pk)
    assert response.cookies[COOKIE]["httponly"]
    assert response.cookies[COOKIE]["max-age"] == 60


def test_request_drains_nothing_while_many_changes_are_pending(monkeypatch: pytest.MonkeyPatch, redis: Redis) -> None:
    """The drain could not finish, and one batch of another user's import may exceed the budget."""
    bulk()
    monkeypatch.setattr(changes, "MUCH", 2)
    response = visit(lambda: Odd.objects.bulk_create([Odd(code="c")]))
    assert cookie(response) == f"{Change.objects.order_by('id').last().pk}+"  # some may be of a source
    assert not arrived(redis)
    monkeypatch.setattr(changes, "MUCH", 4)
    assert cookie(visit(lambda: Odd.objects.bulk_create([Odd(code="d")]))) is None
    assert arrived(redis)


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_write_without_redis_succeeds_and_sets_the_cookie(harm: str, redis_server: RedisServer) -> None:
    getattr(redis_server, harm)()
    response = visit(bulk)
    assert response.status_code == 200
    assert cookie(response)
    assert breaker.open()


def test_request_with_the_cookie_is_answered_by_sql_until_the_change_is_applied() -> None:
    bulk()
    last = str(changes.newest_unapplied())
    assert cookie(visit(by_sql, last)) is None
    drains.drain_all()
    assert cookie(visit(by_redis, last)) == ""


def test_later_changes_do_not_extend_the_cookie() -> None:
    bulk()
    last = str(changes.newest_unapplied())
    drains.drain_all()
    bulk()
    assert cookie(visit(by_redis, last)) == ""


def test_long_quarantined_change_does_not_extend_the_cookie() -> None:
    bulk()
    old = str(changes.newest_unapplied())
    Change.objects.update(quarantined_at="2001-01-01T00:00:00Z")
    assert cookie(visit(by_redis, old)) == ""
    assert cookie(visit(lambda: Odd.objects.create(code="new"))) is None


def test_newly_quarantined_change_is_read_from_sql(timings: Timings) -> None:
    timings(SQL_FALLBACK_SECONDS=3600)
    bulk()
    for _ in range(3):
        changes.failed("t'odd", "a", "no")
    visit(by_sql, str(Change.objects.quarantined().get().pk))


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "1;2", "９", "9" * 30, "9" * 5000, "0x10", " 1", "١"])
def test_invalid_cookie_is_ignored(text: str) -> None:
    bulk()
    assert visit(by_redis, text).status_code == 200


def test_largest_value_of_the_cookie_is_accepted() -> None:
    bulk()
    visit(by_sql, "9" * 18)
    drains.drain_all()
    assert cookie(visit(by_redis, "9" * 18)) == ""


def test_redis_answers_a_request_with_the_cookie_while_sql_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(last: int) -> bool:
        raise OperationalError("gone")

    monkeypatch.setattr(changes, "is_unapplied_up_to", away)
    visit(by_redis, "1")


def test_response_is_sent_if_sql_fails_after_the_write(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(changes, "awaited", away)
    assert visit(bulk).status_code == 200


def test_preference_for_sql_ends_with_the_request() -> None:
    bulk()
    visit(by_sql, str(changes.newest_unapplied()))
    assert not sql_only.wanted()
