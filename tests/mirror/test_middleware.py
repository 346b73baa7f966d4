"""The request after a write shows it, whatever the write was and wherever Redis is."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from redis import Redis

from mirror import outbox, registry, relay, sql_only
from mirror.middleware import COOKIE, ReadYourWrites
from mirror.models import Change
from mirror.recorder import record
from mirror.redis import breaker
from tests.support.mirror.app.models import Odd
from tests.support.servers import RedisServer

pytestmark = pytest.mark.usefixtures("committed", "no_hints")


@pytest.fixture(autouse=True)
def no_hurry(settings: Any) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}


def visit(view: Callable[[], object], cookie: str | None = None) -> HttpResponse:
    """One request whose view does this, by a browser that brings this cookie."""

    def respond(request: HttpRequest) -> HttpResponse:
        view()
        return HttpResponse()

    request = RequestFactory().get("/")
    if cookie is not None:
        request.COOKIES[COOKIE] = cookie
    return ReadYourWrites(respond)(request)


def cookie(response: HttpResponse) -> str | None:
    """The cookie that the answer sets; "" when it takes it away."""
    return response.cookies[COOKIE].value if COOKIE in response.cookies else None


def bulk() -> None:
    Odd.objects.bulk_create([Odd(code="a"), Odd(code="b")])


def nothing() -> None:
    pass


def arrived(redis: Redis) -> bool:
    return bool(redis.exists(registry.get("t'odd").key("a")))


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
def test_what_raw_sql_changed_is_in_redis_when_the_answer_goes_out(sql: str, redis: Redis) -> None:
    Odd.objects.create(code="old")
    relay.drain_all()
    quote = connection.ops.quote_name
    statement = sql.format(t=quote(Odd._meta.db_table), c=quote("c'ödé; --"))
    response = visit(lambda: connection.cursor().execute(statement))
    assert arrived(redis)
    assert cookie(response) is None


def test_what_was_made_in_bulk_is_in_redis_when_the_answer_goes_out(redis: Redis) -> None:
    response = visit(bulk)
    assert arrived(redis)
    assert cookie(response) is None


def test_a_request_that_only_reads_asks_neither_the_outbox_nor_redis() -> None:
    bulk()
    with record() as seen:
        visit(lambda: Odd.objects.count())
    assert (seen.commands, len(seen.sql)) == ([], 1)


def test_the_outbox_itself_is_no_write() -> None:
    with record() as seen:
        visit(lambda: outbox.append("t'odd", ["a"]))
    assert seen.commands == []


def test_what_could_not_be_drained_leaves_a_cookie_with_the_last_change(settings: Any) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    response = visit(bulk)
    assert cookie(response) == str(Change.objects.order_by("id").last().pk)
    assert response.cookies[COOKIE]["httponly"]
    assert response.cookies[COOKIE]["max-age"] == 60


def test_where_much_is_pending_a_request_begins_nothing(monkeypatch: pytest.MonkeyPatch, redis: Redis) -> None:
    """It would not come to an end, and one batch of somebody's import can take longer than the budget."""
    bulk()
    monkeypatch.setattr(outbox, "MUCH", 2)
    response = visit(lambda: Odd.objects.bulk_create([Odd(code="c")]))
    assert cookie(response) == str(Change.objects.order_by("id").last().pk)
    assert not arrived(redis)
    monkeypatch.setattr(outbox, "MUCH", 4)
    assert cookie(visit(lambda: Odd.objects.bulk_create([Odd(code="d")]))) is None
    assert arrived(redis)


@pytest.mark.parametrize("harm", ["kill", "freeze"])
def test_without_redis_the_write_succeeds_and_leaves_a_cookie(harm: str, redis_server: RedisServer) -> None:
    getattr(redis_server, harm)()
    response = visit(bulk)
    assert response.status_code == 200
    assert cookie(response)
    assert breaker.open()


def test_a_request_with_the_cookie_is_answered_by_sql_until_the_change_has_arrived() -> None:
    bulk()
    last = str(outbox.newest_unapplied())
    assert cookie(visit(by_sql, last)) is None
    relay.drain_all()
    assert cookie(visit(by_redis, last)) == ""


def test_later_changes_of_others_do_not_prolong_the_cookie() -> None:
    bulk()
    last = str(outbox.newest_unapplied())
    relay.drain_all()
    bulk()
    assert cookie(visit(by_redis, last)) == ""


def test_a_change_that_was_set_aside_long_ago_keeps_nobody_on_sql() -> None:
    bulk()
    old = str(outbox.newest_unapplied())
    Change.objects.update(quarantined_at="2001-01-01T00:00:00Z")
    assert cookie(visit(by_redis, old)) == ""
    assert cookie(visit(lambda: Odd.objects.create(code="new"))) is None


def test_a_change_that_was_just_set_aside_is_read_from_sql(settings: Any) -> None:
    settings.MIRROR = {**settings.MIRROR, "SQL_FALLBACK_SECONDS": 3600}
    bulk()
    for _ in range(3):
        outbox.failed("t'odd", "a", "no")
    visit(by_sql, str(Change.objects.quarantined().get().pk))


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "1;2", "９", "9" * 30, "9" * 5000, "0x10", " 1", "١"])
def test_a_cookie_that_was_tampered_with_is_harmless(text: str) -> None:
    bulk()
    assert visit(by_redis, text).status_code == 200


def test_the_greatest_number_that_a_cookie_may_say_is_harmless() -> None:
    bulk()
    visit(by_sql, "9" * 18)
    relay.drain_all()
    assert cookie(visit(by_redis, "9" * 18)) == ""


def test_without_sql_a_request_with_the_cookie_is_answered_by_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(last: int) -> bool:
        raise OperationalError("gone")

    monkeypatch.setattr(outbox, "is_unapplied_up_to", away)
    visit(by_redis, "1")


def test_when_sql_fails_after_the_write_the_answer_goes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(outbox, "newest_unapplied", away)
    assert visit(bulk).status_code == 200


def test_the_wish_for_sql_ends_with_the_request() -> None:
    bulk()
    visit(by_sql, str(outbox.newest_unapplied()))
    assert not sql_only.wanted()
