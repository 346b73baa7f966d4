"""The mode of a mirror decides when its changes are drained; in every mode a reader sees their own writes."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import registry
from mirror.middleware import COOKIE, ReadYourWrites
from mirror.models import Change
from mirror.outbox import changes, spread
from mirror.redis.recorder import record
from mirror.relay import drains, send, signals, sql_only
from tests.projects.mirrortest.models import Group, Item, Label, Odd
from tests.support.mirror import world

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("sqlite", "cluster")]
SENT = list[object]


@pytest.fixture(autouse=True)
def no_hurry(settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}


@pytest.fixture(autouse=True)
def sent(monkeypatch: pytest.MonkeyPatch) -> SENT:
    """Collect the tasks that are sent to workers."""
    found: SENT = []
    monkeypatch.setattr(send, "drain", lambda mirror, keys: found.append((mirror, keys)))
    monkeypatch.setattr(send, "sweep", lambda: found.append("sweep"))
    return found


@pytest.fixture
def alone(own_registry: None) -> Iterator[None]:
    """Leave items to one mirror."""
    registry.unregister("latest")
    signals.connect()
    yield
    registry._mirrors["latest"] = latest
    signals.connect()


latest = registry.get("latest")


def choose(monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    monkeypatch.setattr(registry.get("t'odd"), "drain", mode, raising=False)


def visit(view: Callable[[], object], cookie: str | None = None) -> HttpResponse:
    """Run ``view`` in a request through the middleware. The server has not closed the response yet."""

    def respond(request: HttpRequest) -> HttpResponse:
        view()
        return HttpResponse()

    request = RequestFactory().get("/")
    if cookie is not None:
        request.COOKIES[COOKIE] = cookie
    return ReadYourWrites(respond)(request)


def create() -> None:
    Odd.objects.create(code="a")


def create_in_bulk() -> None:
    Odd.objects.bulk_create([Odd(code="a")])


def arrived(redis: Redis) -> bool:
    return bool(redis.exists(registry.get("t'odd").record_key("a")))


def writes(statements: list[tuple[str, float]]) -> list[str]:
    """Return the statements that write. Outside of a transaction each of them is a commit."""
    return [sql for sql, _ in statements if not sql.lstrip().startswith("SELECT")]


@pytest.mark.usefixtures("alone")
@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_save_of_a_record_with_sets_and_a_ranking_costs_four_statements_one_commit_and_two_round_trips() -> None:
    item = Item.objects.create(name="a", group=Group.objects.create(name="g"))
    item.labels.set([Label.objects.create(name=name) for name in ("red", "blue", "green")])
    for score in (1, 2):  # the first one opens connections
        item.score = score
        with record() as seen:
            item.save()
    assert len(seen.sql) <= 1 + 4
    assert [sql.split()[:2] for sql in writes(seen.sql)] == [
        ["UPDATE", '"mirrortest_item"'],
        ["UPDATE", "mirror_change"],
    ]
    assert seen.round_trips == 2
    assert not Change.objects.pending().exclude(mirror="latest").exists()


@pytest.mark.usefixtures("alone")
@pytest.mark.only_on("single")  # it counts the commands or round trips of one Redis
def test_rows_of_several_models_in_one_transaction_are_one_drain(redis: Redis) -> None:
    create_in_bulk()
    with record() as seen, transaction.atomic():
        Odd.objects.create(code="b")
        item = Item.objects.create(name="a")
        Item.objects.create(name="b")
    exists = [registry.get("titem").record_key(str(item.pk)), registry.get("t'odd").record_key("b")]
    assert redis.exists(*exists) == 2
    assert len([command for command in seen.commands if command.name == "EXEC"]) == 1
    assert len([sql for sql in writes(seen.sql) if "mirror_change" in sql]) == 1


def test_backlog_does_not_delay_the_rows_of_a_request(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, "after_response")
    monkeypatch.setattr(changes, "MUCH", 2)
    changes.append("titem", ["1", "2", "3"])
    response = visit(create)
    assert not arrived(redis)
    response.close()
    assert arrived(redis)


@pytest.mark.parametrize("change", ["save", "update"])
def test_request_leaves_a_source_to_the_relay_and_its_reader_to_sql(change: str, redis: Redis, sent: SENT) -> None:
    item, label = Item.objects.create(name="a"), Label.objects.create(name="red")
    item.labels.add(label)
    drains.drain_all()
    sent.clear()

    def rename() -> None:
        label.name = "blue"
        if change == "save":
            label.save()
            assert sql_only.wanted()
        else:
            Label.objects.update(name="blue")

    with record() as seen:
        response = visit(rename)
    assert sent == []
    response.close()
    assert sent == ["sweep"]
    assert not any(command.name == "EXEC" for command in seen.commands)
    cookie = response.cookies[COOKIE].value
    assert cookie == f"{Change.objects.pending().get().pk}+"
    visit(lambda: check(sql_only.wanted()), cookie)
    spread.step(spread.next_group())
    # The rows that depend on the label have changes now, which are later than the one in the cookie.
    later = visit(lambda: check(sql_only.wanted()), cookie).cookies[COOKIE].value
    assert later == str(Change.objects.pending().get().pk)
    drains.drain_all()
    assert world.dump(redis) == world.by_orm()
    assert visit(lambda: check(not sql_only.wanted()), later).cookies[COOKIE].value == ""
    assert visit(lambda: check(not sql_only.wanted()), cookie).cookies[COOKIE].value == ""


def check(is_right: bool) -> None:
    assert is_right


def test_saved_label_without_a_change_asks_for_no_sweep(sent: SENT) -> None:
    group = Group.objects.create(name="g")
    sent.clear()
    group.save()
    assert sent == []


@pytest.mark.parametrize("write", [create, create_in_bulk])
def test_inline_mirror_is_drained_before_the_response(write: Callable[[], None], redis: Redis) -> None:
    response = visit(write)
    assert arrived(redis)
    assert COOKIE not in response.cookies


@pytest.mark.parametrize("write", [create, create_in_bulk])
def test_mirror_is_drained_after_the_response(
    write: Callable[[], None], redis: Redis, sent: SENT, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "after_response")
    with record() as seen:
        response = visit(write)
    assert seen.commands == []
    cookie = response.cookies[COOKIE].value
    visit(lambda: check(sql_only.wanted()), cookie)
    response.close()
    assert arrived(redis)
    assert visit(lambda: check(not sql_only.wanted()), cookie).cookies[COOKIE].value == ""
    assert sent == []


def test_sql_answers_the_rest_of_a_request_that_is_drained_after_the_response(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, "after_response")

    def view() -> None:
        check(not sql_only.wanted())
        create()
        check(sql_only.wanted())

    visit(view)
    assert not sql_only.wanted()


def test_response_that_is_never_closed_leaves_its_changes_to_the_relay(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "after_response")
    visit(create)
    assert not arrived(redis)
    drains.drain_all()
    assert arrived(redis)


def test_without_a_response_after_response_means_inline(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, "after_response")
    create()
    assert arrived(redis)


def test_only_workers_drain_a_mirror_of_their_own(redis: Redis, sent: SENT, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, "worker")
    create()
    assert sent == [("t'odd", ["a"])]
    response = visit(lambda: Odd.objects.create(code="b"))
    response.close()
    assert response.cookies[COOKIE].value == str(Change.objects.order_by("id").last().pk)
    assert not arrived(redis)
    drains.drain_all()
    assert arrived(redis)


def test_setting_is_the_mode_of_mirrors_without_one(settings: Settings, redis: Redis, sent: SENT) -> None:
    settings.MIRROR = {**settings.MIRROR, "DRAIN": "worker"}
    create()
    assert sent == [("t'odd", ["a"])]
    assert not arrived(redis)


def test_nobody_waits_for_a_mirror_that_is_left_to_the_relay(
    redis: Redis, sent: SENT, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, "relay")
    create()

    def view() -> None:
        Odd.objects.create(code="b")
        check(not sql_only.wanted())

    response = visit(view)
    response.close()
    assert COOKIE not in response.cookies
    assert sent == []
    assert not arrived(redis)
    drains.drain_all()
    assert arrived(redis)


def test_a_sweep_computes_a_key_of_such_a_mirror_once(monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, "relay")
    create()
    mirror, loads = registry.get("t'odd"), list[Sequence[str]]()
    load = mirror.load

    def load_during_writes(pks: Sequence[str]) -> Mapping[str, object]:
        loads.append(pks)
        found = load(pks)
        if len(loads) < 3:
            Odd.objects.update(code=F("code"))
        return found

    monkeypatch.setattr(mirror, "load", load_during_writes)
    drains.drain_all(5.0)
    assert loads == [["a"]]
    drains.drain_all()
    assert len(loads) == 3
    assert not Change.objects.pending().filter(mirror="t'odd").exists()
