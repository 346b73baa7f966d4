"""Redis or the broker hangs (keeps its connections and answers nothing): pages still answer within a second."""

import json

import orjson
import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from catalog.models import Book
from mirror.redis.clients import client, relay_client
from tests.projects.mirrortest.models import Item
from tests.support.catalog.make import make_book
from tests.support.faults.crew import Crew
from tests.support.faults.tools import assert_comes_to_rest
from tests.support.faults.web import BOUND_SECONDS, Web
from tests.support.mirror import world
from tests.support.servers import RedisServer
from tests.support.timeouts import with_timeouts


@pytest.fixture
def book(still: list[Item]) -> Book:
    made = make_book("The Book of Sand", tags="fantasy")
    world.rest()
    return made


@pytest.fixture
def web(book: Book, still: list[Item], broker_server: RedisServer, crew: Crew) -> Web:
    """Start a site and request each page once, so that Redis serves it where possible."""
    site = Web(crew)
    for path in ("/", "/accounts/login/", f"/books/{book.pk}/", "/books/"):
        site.fetch(path)
    site.comes_to_say(still[0], still[0].name)
    return site


@pytest.mark.slow
def test_every_page_answers_within_a_second_while_redis_hangs(
    web: Web, book: Book, still: list[Item], redis_server: RedisServer, broker_server: RedisServer
) -> None:
    redis_server.freeze()
    broker_server.freeze()
    assert web.item(still[0].pk) == {"name": still[0].name, "by": "sql"}
    assert book.title in web.ask("/books/")
    assert book.title in web.ask("/books/?q=fantasy")
    assert book.title in web.ask(f"/books/{book.pk}/")
    assert "<html" in web.ask("/")
    assert "password" in web.ask("/accounts/login/")
    assert web.ask("/healthz")
    assert orjson.loads(web.ask("/readyz"))["redis"] is False
    redis_server.thaw()
    web.comes_to_say(still[0], still[0].name)


@pytest.mark.slow
@pytest.mark.parametrize("bulk", [{}, {"bulk": "1"}], ids=["with signals", "without signals"])
def test_write_during_a_hang_of_redis_succeeds_once_and_shows_at_once(
    bulk: dict[str, str], web: Web, still: list[Item], redis_server: RedisServer, broker_server: RedisServer,
    crew: Crew, state: Redis,
) -> None:  # fmt: skip
    count = Item.objects.count()
    redis_server.freeze()
    broker_server.freeze()
    assert web.item(still[0].pk, name="renamed", **bulk) == {"name": "renamed", "by": "sql"}
    assert web.item(still[0].pk) == {"name": "renamed", "by": "sql"}
    assert (Item.objects.count(), Item.objects.filter(name="renamed").count()) == (count, 1)
    redis_server.thaw()
    broker_server.thaw()
    writer = web.visitor
    web.new_visitor()
    web.comes_to_say(still[0], "still 0")
    web.visitor = writer
    assert web.item(still[0].pk) == {"name": "renamed", "by": "sql"}
    crew.worker()
    crew.beat()
    assert_comes_to_rest(state)
    web.comes_to_say(still[0], "renamed")


@pytest.mark.slow
def test_write_during_a_hang_of_the_broker_succeeds_within_a_second(
    book: Book, still: list[Item], broker_server: RedisServer, crew: Crew, state: Redis
) -> None:
    """The write exceeds the budget, so it tries to send a hint."""
    crew.environment["MIRROR_SETTINGS"] = json.dumps({"BUDGET_SECONDS": 0})
    web = Web(crew)
    assert web.fetch("/books/")
    broker_server.freeze()
    web.item(still[0].pk, name="renamed")
    assert web.item(still[0].pk) == {"name": "renamed", "by": "sql"}
    broker_server.thaw()
    crew.worker()
    crew.beat()
    assert_comes_to_rest(state)


@pytest.mark.slow
def test_site_started_without_redis_answers_and_finds_it_later(
    book: Book, still: list[Item], redis_server: RedisServer, crew: Crew
) -> None:
    redis_server.kill()
    web = Web(crew)
    assert book.title in web.fetch("/books/")
    assert web.item(still[0].pk) == {"name": still[0].name, "by": "sql"}
    redis_server.start()
    crew.worker()
    crew.beat()
    web.comes_to_say(still[0], still[0].name)


def test_requests_have_shorter_time_outs_than_the_relay(redis_server: RedisServer, settings: Settings) -> None:
    """Both aliases have the same URL, but each keeps its own time-outs."""
    settings.CACHES = with_timeouts(settings.CACHES)  # the site's time-outs
    relay, request = (of.connection_pool.connection_kwargs["socket_timeout"] for of in (relay_client(), client()))
    assert relay > BOUND_SECONDS > request
