"""One process renders a page at a time, and faults of the cache server do not break pages."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from common import clock
from mirror.read import Asked, PastReads
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from shop import keys
from shop.models import Product
from shop.pagecache import store
from shop.pagecache.rendering import PageRefused
from shop.pagecache.stored_page import StoredPage
from tests.shop import stampede
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.page_cache import Made, cached_pages, get_page, made, page_path, product
from tests.support.timeouts import ShortTimeouts, hung

__all__ = ["made", "product"]
PROCESSES, THREADS = 4, 64


@pytest.fixture
def cache(server: RedisServer) -> Iterator[Any]:
    """A client of the cache server."""
    with server.client(1) as client:
        yield client


NO_READS = PastReads(Asked((), ()), "digest")


def shell(text: str = "a", *, age: float = 0, life: float | None = None) -> StoredPage:
    """Return a page that depends on nothing."""
    return StoredPage([text.encode()], False, {}, NO_READS, life, clock.now().timestamp() - age)


def get_page_of_store(digest: str, make: Callable[[], StoredPage]) -> StoredPage | None:
    """Return the page as a process that has no copy, while Redis is unchanged."""
    return store.find_or_render(digest, None, lambda page: True, make)


def never() -> StoredPage:
    raise AssertionError("this page is not to be made")


def refuses() -> StoredPage:
    raise PageRefused("it is private")


OLD, OVER = 301.0, 601.0  # ages in seconds


def test_a_page_is_unchanged_by_its_encoding() -> None:
    reads = PastReads(Asked(("book",), ((("GET", "book:7"), {}),)), "digest")
    one = StoredPage([b"a", "é".encode()], True, {"Vary": "Cookie"}, reads, 60.0, 1.5)
    assert StoredPage.from_bytes("d", one.to_bytes("d")) == one


def test_a_page_is_fresh_for_five_minutes_and_stale_for_five_more(cache: Any, settings: Settings) -> None:
    with record() as seen:
        assert get_page_of_store("d", shell) is not None
    (kept,) = [
        command for command in seen.commands if command.named() == [keys.cached_page("d")] and command.name == "SET"
    ]
    assert kept.args[2:] == ("PX", 600_000)
    assert 0 < cache.pttl(keys.cached_page("d")) <= 600_000
    now = clock.now()
    settings.CLOCK = lambda: now
    aged = [shell(age=age) for age in (0, 299, 301, 599, 601)]
    assert [one.is_fresh for one in aged] == [True, True, False, False, False]
    assert [one.is_expired for one in aged] == [False, False, False, False, True]


def test_a_page_with_a_time_in_it_has_a_shorter_life(settings: Settings) -> None:
    now = clock.now()
    settings.CLOCK = lambda: now
    aged = [shell(age=age, life=1.0) for age in (0, 0.9, 1.1, 1.9, 2.1)]
    assert [one.is_fresh for one in aged] == [True, True, False, False, False]
    assert [one.is_expired for one in aged] == [False, False, False, False, True]


def test_the_first_request_renders_a_stale_page_anew(cache: Any) -> None:
    cache.set(keys.cached_page("d"), shell("old", age=OLD).to_bytes("d"))
    found = get_page_of_store("d", lambda: shell("new"))
    assert found
    assert found.pieces == [b"new"]
    assert StoredPage.from_bytes("d", cache.get(keys.cached_page("d"))).pieces == [b"new"]
    assert not cache.exists(keys.cached_page_lock("d"))


def test_other_requests_get_the_stale_page_meanwhile(cache: Any) -> None:
    cache.set(keys.cached_page("d"), shell("old", age=OLD).to_bytes("d"))
    cache.set(keys.cached_page_lock("d"), "somebody", px=60_000)
    for _ in range(2):
        found = get_page_of_store("d", never)
        assert found
        assert found.pieces == [b"old"]
    assert cache.get(keys.cached_page_lock("d")) == b"somebody"


def test_a_stale_copy_is_replaced_by_the_servers_new_page(cache: Any) -> None:
    cache.set(keys.cached_page("d"), shell("old", age=OLD).to_bytes("d"))
    cache.set(keys.cached_page_lock("d"), "somebody", px=60_000)
    get_page_of_store("d", never)
    cache.set(keys.cached_page("d"), shell("new").to_bytes("d"))
    cache.delete(keys.cached_page_lock("d"))
    wait_until(lambda: (found := get_page_of_store("d", never)) and found.pieces == [b"new"], "the new page")


def test_an_expired_page_is_not_served(cache: Any) -> None:
    cache.set(keys.cached_page("d"), shell("old", age=OVER).to_bytes("d"))
    found = get_page_of_store("d", lambda: shell("new"))
    assert found
    assert found.pieces == [b"new"]


@pytest.mark.parametrize("make", [lambda: shell("forged").to_bytes("another"), lambda: b"forged", lambda: b"\xff:x"])
def test_a_page_that_the_site_did_not_sign_for_this_key_is_rendered_anew(cache: Any, make: Callable[[], bytes]) -> None:
    cache.set(keys.cached_page("d"), make())
    found = get_page_of_store("d", lambda: shell("new"))
    assert found
    assert found.pieces == [b"new"]
    assert StoredPage.from_bytes("d", cache.get(keys.cached_page("d"))).pieces == [b"new"]


def test_a_request_without_page_or_lock_waits_and_renders_uncached(cache: Any, settings: Settings) -> None:
    settings.SHOP_PAGE_WAIT_SECONDS = 0.1
    cache.set(keys.cached_page_lock("d"), "somebody who was killed", px=60_000)
    assert get_page_of_store("d", never) is None
    assert not cache.exists(keys.cached_page("d"))


def test_an_outdated_page_is_not_served_while_another_process_has_the_lock(cache: Any, settings: Settings) -> None:
    """As after a post was hidden, when the other process finds that there is no page any more."""
    settings.SHOP_PAGE_WAIT_SECONDS = 0.1
    outdated = shell("outdated")
    store.keep_copy("d", outdated)
    cache.set(keys.cached_page("d"), outdated.to_bytes("d"))
    cache.set(keys.cached_page_lock("d"), "somebody", px=60_000)
    assert store.find_or_render("d", None, lambda page: False, never) is None
    settings.SHOP_PAGE_WAIT_SECONDS = 60.0
    renderer = threading.Timer(0.1, lambda: cache.set(keys.cached_page("d"), shell("new").to_bytes("d")))
    renderer.start()
    found = store.find_or_render("d", None, lambda page: False, never)
    renderer.join()
    assert found
    assert found.pieces == [b"new"]


def test_one_thread_of_a_process_polls_for_all_waiting_ones(
    cache: Any, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.SHOP_PAGE_WAIT_SECONDS = 60.0
    look, looks, shown = store._poll_for_page, list[str](), list[StoredPage | None]()

    def noted(redis: Redis, digest: str, end: float, outdated_at: float) -> StoredPage | None:
        looks.append(digest)
        return look(redis, digest, end, outdated_at)

    monkeypatch.setattr(store, "_poll_for_page", noted)
    cache.set(keys.cached_page_lock("d"), "somebody", px=120_000)
    cache.config_resetstat()
    visitors = [threading.Thread(target=lambda: shown.append(get_page_of_store("d", never))) for _ in range(20)]
    for visitor in visitors:
        visitor.start()
    wait_until(
        lambda: cache.info("commandstats").get("cmdstat_set", {}).get("calls") == 20, "twenty who found the lock taken"
    )
    cache.set(keys.cached_page("d"), shell().to_bytes("d"))
    for visitor in visitors:
        visitor.join()
    assert [found and found.pieces for found in shown] == [[b"a"]] * 20
    assert looks == ["d"]


def test_the_lock_of_a_killed_process_expires(cache: Any) -> None:
    token = "somebody who was killed"
    cache.set(keys.cached_page_lock("d"), token, px=200)
    wait_until(lambda: get_page_of_store("d", shell) is not None, "the end of the lock")
    assert cache.exists(keys.cached_page("d"))


def test_a_taken_lock_has_an_expiry(cache: Any, settings: Settings) -> None:
    settings.SHOP_PAGE_LOCK_SECONDS = 3600.0  # not before the test has read it

    def make() -> StoredPage:
        assert 0 < cache.pttl(keys.cached_page_lock("d")) <= 3_600_000
        return shell()

    assert get_page_of_store("d", make)


def test_a_process_never_releases_the_lock_of_another(cache: Any) -> None:
    def make() -> StoredPage:
        cache.set(keys.cached_page_lock("d"), "somebody else", px=60_000)
        return shell()

    get_page_of_store("d", make)
    assert cache.get(keys.cached_page_lock("d")) == b"somebody else"


def test_a_failed_rendering_releases_the_lock(cache: Any) -> None:
    def make() -> StoredPage:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        get_page_of_store("d", make)
    assert get_page_of_store("d", shell)


def test_an_outdated_page_on_the_server_is_rendered_anew(cache: Any) -> None:
    cache.set(keys.cached_page("d"), shell("old").to_bytes("d"))
    found = store.find_or_render("d", None, lambda page: False, lambda: shell("new"))
    assert found
    assert found.pieces == [b"new"]


def test_a_refused_page_is_remembered_as_such(cache: Any) -> None:
    assert get_page_of_store("d", refuses) is None
    copy = store.get_copy("d")
    assert copy
    assert copy.page is None
    assert not cache.keys("*")


def test_copies_in_the_process_are_bounded(cache: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store._copies, "most", 3)
    for number in range(10):
        get_page_of_store(str(number), shell)
    assert list(store._copies) == ["7", "8", "9"]


@pytest.mark.django_db(transaction=True)
def test_without_the_cache_server_pages_are_served_uncached(
    product: Product, made: Made, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.CACHES = {
        **settings.CACHES, "default": {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/redis.sock?db=1"}
    }  # fmt: skip
    for _ in range(3):
        assert "The Book of Sand" in get_page(Client(), page_path(product))
    assert len(made) == 0
    assert caplog.text.count("cache server did not answer") == 1  # then the breaker is open for a while


@pytest.mark.django_db(transaction=True)
def test_a_hanging_cache_server_leaves_pages_uncached(
    product: Product, made: Made, settings: Settings, short_timeouts: ShortTimeouts, caplog: pytest.LogCaptureFixture
) -> None:
    with RedisServer(on_hang=short_timeouts) as other:
        location = {**settings.CACHES["default"], "LOCATION": other.url(1)}
        settings.CACHES = {**settings.CACHES, "default": location}
        get_page(Client(), page_path(product))
        store.clear_copies()
        with hung(other):
            for _ in range(2):
                assert "The Book of Sand" in get_page(Client(), page_path(product))
        assert caplog.text.count("cache server did not answer") >= 1
        assert store.breaker.open()
    assert len(made) == 1


@pytest.mark.django_db(transaction=True)
def test_a_copy_is_served_while_the_cache_server_is_away(product: Product, made: Made, settings: Settings) -> None:
    get_page(Client(), page_path(product))
    settings.CACHES = {
        **settings.CACHES, "default": {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/redis.sock?db=1"}
    }  # fmt: skip
    for _ in range(2):
        get_page(Client(), page_path(product))
    assert len(made) == 1


@pytest.mark.django_db(transaction=True)
def test_without_redis_sql_answers_the_page(product: Product, made: Made, redis_server: RedisServer) -> None:
    redis_server.kill()
    Product.objects.filter(pk=product.pk).update(price=990)
    assert "€9.90" in get_page(Client(), page_path(product))
    assert len(made) == 0


@pytest.mark.slow
def test_hundreds_of_visitors_at_once_build_the_page_once(
    product: Product, redis: Redis, server: RedisServer, environment: dict[str, str]
) -> None:
    """In four processes with different hash seeds, with threads."""
    command = [sys.executable, "-m", "tests.shop.stampede", page_path(product), str(THREADS)]
    patient = environment | {"DJANGO_SETTINGS_MODULE": "tests.support.patient_settings"}
    drain_all()
    children = [
        subprocess.Popen(command, env={**patient, "PYTHONHASHSEED": str(seed)}, stdout=subprocess.PIPE)
        for seed in range(1, PROCESSES + 1)
    ]

    def are_there() -> bool:
        assert all(child.poll() is None for child in children)
        return int(redis.get(stampede.READY) or 0) == PROCESSES

    wait_until(are_there, "all visitors", 600)
    redis.set(stampede.GO, 1)
    shown = [int(child.communicate(timeout=600)[0]) for child in children]
    assert shown == [THREADS] * PROCESSES
    assert int(redis.get(stampede.MADE) or 0) == 1
    assert len(cached_pages(server)) == 1
