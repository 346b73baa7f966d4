"""Whoever serves a request writes before those who can wait, on SQLite; on PostgreSQL nobody waits for one another."""

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from django.db import OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from pytest_django.fixtures import Settings

from catalog.models import Author
from config import people_first
from config.people_first import PeopleFirst, in_turn, somebody_waits
from tests.support.servers import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_sqlite]
OTHERS = 8


def file() -> Path:
    """The file by which people are known to wait."""
    return Path(f"{connection.settings_dict['NAME']}{people_first.SUFFIX}")


@contextmanager
def thread(job: Callable[[], object]) -> Iterator[threading.Thread]:
    """The job in a thread and on a connection of its own; the block's end waits for its end."""

    def work() -> None:
        try:
            job()
        finally:
            connection.close()

    made = threading.Thread(target=work)
    made.start()
    try:
        yield made
    finally:
        made.join(PATIENCE_SECONDS)


def add(name: str) -> None:
    Author.objects.create(name=name)


def add_in_a_request(name: str) -> None:
    """As a page does."""

    def view(request: HttpRequest) -> HttpResponse:
        add(name)
        return HttpResponse()

    PeopleFirst(view)(RequestFactory().post("/"))


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[int | None]:
    """The threads whose tries to write have found the lock taken: each as often as it tried."""
    tries: list[int | None] = []

    def is_busy(error: OperationalError, true: Callable[[OperationalError], bool] = people_first._is_busy) -> bool:
        tries.append(threading.get_ident())
        return true(error)

    monkeypatch.setattr(people_first, "_is_busy", is_busy)
    settings.SQLITE_YIELD_SECONDS = 60.0
    return tries


@pytest.fixture
def giving_way(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The threads that have seen that somebody who serves a request waits."""
    threads: set[int] = set()

    def is_wanted(file: Path, true: Callable[[Path], bool] = people_first.is_wanted) -> bool:
        found = true(file)
        if found:
            threads.add(threading.get_ident())
        return found

    monkeypatch.setattr(people_first, "is_wanted", is_wanted)
    return threads


@pytest.mark.on_sqlite
def test_a_request_that_came_last_writes_first(waiting: list[int | None], giving_way: set[int]) -> None:
    with ExitStack() as stack, transaction.atomic():
        for n in range(OTHERS):
            stack.enter_context(thread(lambda n=n: add(f"other{n}")))  # type: ignore[misc]
        wait_until(lambda: len(set(waiting)) == OTHERS, "all others find the lock taken")
        person = stack.enter_context(thread(lambda: add_in_a_request("person")))
        # The second time it finds the lock taken it is known to wait. Until then the others take one another for it.
        wait_until(lambda: waiting.count(person.ident) > 1, "the request waits")
        giving_way.clear()
        wait_until(lambda: len(giving_way) == OTHERS, "all others see that a request waits")
    names = list(Author.objects.order_by("pk").values_list("name", flat=True))
    assert names[0] == "person"
    assert len(names) == 1 + OTHERS


@pytest.mark.on_sqlite
def test_people_do_not_stop_the_others_for_ever(settings: Settings) -> None:
    settings.SQLITE_YIELD_SECONDS = 0.05
    with people_first.held(file(), fcntl.LOCK_SH):
        add("other")
    assert Author.objects.get().name == "other"


@pytest.mark.on_sqlite
def test_people_do_not_wait_for_one_another_where_nobody_writes() -> None:
    with people_first.held(file(), fcntl.LOCK_SH):
        add_in_a_request("person")
    assert Author.objects.get().name == "person"


@pytest.mark.on_sqlite
@pytest.mark.parametrize("serves", [True, False], ids=["a request", "a worker"])
def test_who_waited_for_long_is_told_that_the_lock_is_taken(monkeypatch: pytest.MonkeyPatch, serves: bool) -> None:
    monkeypatch.setitem(connection.settings_dict["OPTIONS"], "timeout", 0.05)
    raised: list[str] = []

    def late() -> None:
        try:
            add_in_a_request("late") if serves else add("late")
        except OperationalError as error:
            raised.append(str(error))

    with transaction.atomic(), thread(late):
        wait_until(lambda: bool(raised), "an answer")
    assert raised == ["database is locked"]
    assert not Author.objects.exists()


@pytest.mark.on_sqlite
def test_who_has_the_lock_asks_nobody() -> None:
    with people_first.held(file(), fcntl.LOCK_SH), somebody_waits(), transaction.atomic():
        add("person")
    assert Author.objects.get().name == "person"


def test_only_on_sqlite_is_anything_done_about_it(sqlite: bool) -> None:
    add("somebody")
    assert (in_turn in connection.execute_wrappers) == sqlite
