"""A read replica answers only fallbacks that may be old."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext

import pytest
from django.conf import settings as site
from django.db import Error, OperationalError, transaction
from django.http import HttpRequest, HttpResponse
from pytest_django.fixtures import Settings

from catalog.models import Tag
from mirror.conf import database
from mirror.metrics import counted
from mirror.middleware import WROTE_COOKIE, ReadYourWrites
from mirror.read import replica
from mirror.read.replica import ask_sql, read_from_primary
from mirror.relay import sql_only

Case = Callable[[], AbstractContextManager[object]]
PRIMARY = "default"


@pytest.fixture(autouse=True)
def declared(settings: Settings) -> None:
    settings.MIRROR = site.MIRROR | {"REPLICA": "standby"}


def in_request() -> AbstractContextManager[None]:
    return sql_only.request()


def test_replica_answers_requests_for_mirrors_that_may_be_old() -> None:
    with in_request():
        assert ask_sql(["book", "product"], database) == "standby"
        with read_from_primary():
            assert ask_sql(["book", "product"], database) == PRIMARY
    assert database() == PRIMARY


@pytest.mark.parametrize(
    "case",
    [
        nullcontext,
        lambda: sql_only.request(sql_only.Request(wanted=True)),
        lambda: sql_only.request(sql_only.Request(wrote_before=True)),
    ],
    ids=["no request", "own write not in Redis", "own write lately"],
)
def test_primary_answers_own_writes_and_everything_outside_requests(case: Case) -> None:
    with case():
        assert ask_sql(["book"], database) == PRIMARY


@pytest.mark.parametrize("strict", ["session", "user", "shun", "post", "shelf_entry", "shelf_settings"])
def test_strict_mirror_is_never_read_from_the_replica(strict: str) -> None:
    with in_request():
        assert ask_sql(["book", strict], database) == PRIMARY
        assert ask_sql(["book"], lambda: ask_sql([strict], database)) == PRIMARY


def test_primary_answers_without_a_replica(settings: Settings) -> None:
    settings.MIRROR = site.MIRROR | {"REPLICA": None}
    with in_request():
        assert ask_sql(["book"], database) == PRIMARY


@pytest.mark.django_db
def test_primary_answers_within_a_transaction() -> None:
    with in_request(), transaction.atomic():
        assert ask_sql(["book"], database) == PRIMARY


def test_primary_answers_after_a_failure_of_the_replica() -> None:
    asked: list[str] = []
    outcomes: list[str] = []
    counted.connect(note := lambda name, labels, **kwargs: outcomes.append(labels["outcome"]))

    def load() -> str:
        asked.append("once")
        if len(asked) == 1:
            raise OperationalError("canceling statement due to statement timeout")
        return "answer"

    with ExitStack() as stack:
        stack.callback(counted.disconnect, note)
        with in_request():
            assert ask_sql(["book"], load) == "answer"
            assert ask_sql(["book"], load) == "answer"
        assert (len(asked), outcomes) == (3, ["failed"])  # the breaker spares the second read the replica
        replica.breaker.reset()
        with in_request():
            assert ask_sql(["book"], load) == "answer"
        assert outcomes == ["failed", "answered"]


def test_error_of_the_primary_is_raised() -> None:
    def load() -> str:
        raise Error(database())

    with in_request(), pytest.raises(Error, match=PRIMARY):
        ask_sql(["book"], load)


@pytest.mark.django_db(transaction=True)
def test_writer_reads_the_primary_in_this_request_and_the_next() -> None:
    def view(request: HttpRequest) -> HttpResponse:
        before = ask_sql(["book"], database)
        if request.method == "POST":
            Tag.objects.create(name="ruby")
        return HttpResponse(f"{before} {ask_sql(['book'], database)}")

    def request(method: str, **cookies: str) -> HttpResponse:
        made = HttpRequest()
        made.method, made.COOKIES = method, cookies
        return ReadYourWrites(view)(made)

    assert request("GET").content == b"standby standby"
    response = request("POST")
    assert response.content == b"standby default"
    cookie = response.cookies[WROTE_COOKIE]
    assert cookie["httponly"]
    assert request("GET", **{WROTE_COOKIE: cookie.value}).content == b"default default"
