"""On SQLite, requests write before background processes; on PostgreSQL writers do not wait for each other."""

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
from common.database import request_priority
from common.database.request_priority import RequestPriorityMiddleware, execute_by_priority, prioritise_writes
from tests.support.servers import PATIENCE_SECONDS, wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
OTHERS = 8


def file() -> Path:
    """Return the file whose shared lock tells that a request waits."""
    return Path(f"{connection.settings_dict['NAME']}{request_priority.LOCK_FILE_SUFFIX}")


@contextmanager
def thread(job: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run the job in a thread with its own connection; the end of the block waits for the thread."""

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
    """Create an author within a request."""

    def view(request: HttpRequest) -> HttpResponse:
        add(name)
        return HttpResponse()

    RequestPriorityMiddleware(view)(RequestFactory().post("/"))


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[int | None]:
    """Return a list that records the thread of each failed attempt to get the write lock."""
    tries: list[int | None] = []

    def is_busy(error: OperationalError, true: Callable[[OperationalError], bool] = request_priority._is_busy) -> bool:
        tries.append(threading.get_ident())
        return true(error)

    monkeypatch.setattr(request_priority, "_is_busy", is_busy)
    settings.SQLITE_YIELD_SECONDS = 60.0
    return tries


@pytest.fixture
def giving_way(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Return a set that records the threads which have noticed a waiting request."""
    threads: set[int] = set()

    def is_wanted(file: Path, true: Callable[[Path], bool] = request_priority.has_waiting_request) -> bool:
        found = true(file)
        if found:
            threads.add(threading.get_ident())
        return found

    monkeypatch.setattr(request_priority, "has_waiting_request", is_wanted)
    return threads


@pytest.mark.only_on("sqlite")
def test_late_request_writes_before_background_threads(waiting: list[int | None], giving_way: set[int]) -> None:
    with ExitStack() as stack, transaction.atomic():
        for n in range(OTHERS):
            stack.enter_context(thread(lambda n=n: add(f"other{n}")))  # type: ignore[misc]
        wait_until(lambda: len(set(waiting)) == OTHERS, "all others find the lock taken")
        person = stack.enter_context(thread(lambda: add_in_a_request("person")))
        # After its second failed attempt the request is known to wait; until then others may notice each other instead.
        wait_until(lambda: waiting.count(person.ident) > 1, "the request waits")
        giving_way.clear()
        wait_until(lambda: len(giving_way) == OTHERS, "all others see that a request waits")
    names = list(Author.objects.order_by("pk").values_list("name", flat=True))
    assert names[0] == "person"
    assert len(names) == 1 + OTHERS


@pytest.mark.only_on("sqlite")
def test_background_writers_yield_for_a_limited_time(settings: Settings) -> None:
    settings.SQLITE_YIELD_SECONDS = 0.05
    with request_priority.hold_file_lock(file(), fcntl.LOCK_SH):
        add("other")
    assert Author.objects.get().name == "other"


@pytest.mark.only_on("sqlite")
def test_requests_do_not_wait_for_each_other_without_a_writer() -> None:
    with request_priority.hold_file_lock(file(), fcntl.LOCK_SH):
        add_in_a_request("person")
    assert Author.objects.get().name == "person"


@pytest.mark.only_on("sqlite")
@pytest.mark.parametrize("serves", [True, False], ids=["a request", "a worker"])
def test_timeout_raises_database_is_locked(monkeypatch: pytest.MonkeyPatch, serves: bool) -> None:
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


@pytest.mark.only_on("sqlite")
def test_holder_of_the_lock_does_not_yield() -> None:
    with request_priority.hold_file_lock(file(), fcntl.LOCK_SH), prioritise_writes(), transaction.atomic():
        add("person")
    assert Author.objects.get().name == "person"


def test_wrapper_is_installed_only_on_sqlite(sqlite: bool) -> None:
    add("somebody")
    assert (execute_by_priority in connection.execute_wrappers) == sqlite
