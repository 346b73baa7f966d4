"""Ended sessions, blocks, hidden posts and deactivated users are respected as soon as a fault is over.

Each fault keeps the changes from Redis while its markers and data stay as they were. The breaker is reset, so that
readers behave like another process, which has not noticed the fault.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import Session, User
from accounts.sessions.services import end_session
from mirror.models import Change
from mirror.redis import naming
from mirror.redis.clients import breaker
from mirror.relay import drains, hints
from shop import keys as shop_keys
from social.models import Block, Follow, Post
from tests.support.accounts.sessions import PASSWORD, log_in, read_digest
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.make import make_product
from tests.support.timeouts import hung
from tests.support.warm_mirrors import rebuild

HEARTBEAT_SECONDS = 0.3  # how long readers believe data from before the fault


class Site:
    """Logged-in readers, each with a browser, and authors, each with a post that the readers see."""

    def __init__(self, redis_server: RedisServer) -> None:
        self.pages = ("/", f"/books/{make_product('The Book of Sand').pk}/")
        names = ("out", "ended", "erased", "gone", "blocked", "blocker")
        self.readers = {name: User.objects.create_user(name, password=PASSWORD) for name in names}
        self.browsers = {name: log_in(user) for name, user in self.readers.items()}
        self.authors = {
            name: User.objects.create_user(f"author {name}") for name in ("leaving", "hidden", "deleted", "other")
        }
        self.posts = {name: Post.objects.create(user=user, text=text_of(name)) for name, user in self.authors.items()}
        Follow.objects.create(follower=self.readers["blocker"], followee=self.authors["other"])
        rebuild()
        drains.drain_all()
        with redis_server.client() as client:  # makes the book's page a cached one
            client.zadd(shop_keys.popularity(), {self.pages[1].split("/")[2]: -3})
        for page in (*self.pages, "/home/", "/global/", "/accounts/sessions/"):
            for browser in self.browsers.values():
                browser.get(page)
        drains.drain_all()

    def change(self) -> None:
        """End, hide or forbid every access that ``allowed`` checks."""
        left = Client()
        left.cookies.load({name: morsel.value for name, morsel in self.browsers["out"].cookies.items()})
        self.browsers["out"].post("/accounts/logout/")
        self.browsers["out"] = left  # the copied cookies of the former session
        end_session(self.readers["ended"], read_digest(self.browsers["ended"]))
        Session.objects.filter(user=self.readers["erased"]).delete()
        User.objects.filter(pk__in=[self.readers["gone"].pk, self.authors["leaving"].pk]).update(is_active=False)
        Post.objects.filter(pk=self.posts["hidden"].pk).update(is_hidden=True)
        Post.objects.filter(pk=self.posts["deleted"].pk).delete()
        Block.objects.create(blocker=self.authors["other"], blocked=self.readers["blocked"])
        Block.objects.create(blocker=self.readers["blocker"], blocked=self.authors["other"])

    def allowed(self) -> set[str]:
        """Return which access still works."""
        found = {name for name in ("out", "ended", "erased", "gone") if self.is_in(name)}
        strangers = Client().get("/global/").content.decode()
        found |= {name for name in ("leaving", "hidden", "deleted") if text_of(name) in strangers}
        for name, page in (("blocked", "/global/"), ("blocker", "/home/")):
            if text_of("other") in self.browsers[name].get(page).content.decode():
                found.add(name)
        return found

    def is_in(self, name: str) -> bool:
        """Return whether any page shows the reader as logged in, by prefetched reads, the page cache or ordinary
        reads.
        """
        browser = self.browsers[name]
        shown = any("/accounts/logout/" in browser.get(page).content.decode() for page in self.pages)
        return shown or browser.get("/accounts/sessions/").status_code == 200


ALL = {"out", "ended", "erased", "gone", "leaving", "hidden", "deleted", "blocked", "blocker"}


def text_of(name: str) -> str:
    return f"the post called {name}"


@pytest.fixture
def site(redis_server: RedisServer, transactional_db: None) -> Site:
    """Return the site, with everything in Redis."""
    return Site(redis_server)


@contextmanager
def frozen(server: RedisServer) -> Generator[None, None, None]:
    with hung(server):
        yield


@contextmanager
def out_of_memory(server: RedisServer) -> Generator[None, None, None]:
    with server.client() as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)
        yield
        client.config_set("maxmemory", 0)


@contextmanager
def unable_to_save(server: RedisServer) -> Generator[None, None, None]:
    """Cause MISCONF: a directory has the name of the snapshot."""
    with server.client() as client:
        (server.data / client.config_get("dbfilename")["dbfilename"]).mkdir()
        client.config_set("save", "3600 1")
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "a failed save")
        yield
        client.config_set("save", "")


FAULTS = {"frozen": frozen, "out of memory": out_of_memory, "unable to save": unable_to_save}


@pytest.mark.parametrize("fault", FAULTS)
def test_changes_that_redis_refused_are_respected(
    site: Site, redis_server: RedisServer, settings: Settings, fault: str
) -> None:
    assert site.allowed() == ALL
    settings.MIRROR = {**settings.MIRROR, "HEARTBEAT_SECONDS": HEARTBEAT_SECONDS}
    rebuild()
    with FAULTS[fault](redis_server):
        site.change()
        breaker.reset()
        time.sleep(HEARTBEAT_SECONDS)  # the heartbeat has expired by then
        assert site.allowed() == set()
    breaker.reset()
    assert Change.objects.pending().exists(), "the changes must not be in Redis"
    assert site.allowed() == set()


def test_changes_that_are_not_drained_yet_are_respected(
    site: Site, redis_server: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hints, "flush", lambda: None)
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    with redis_server.client() as client:
        client.delete(naming.heartbeat())
    assert site.allowed() == ALL
    site.change()
    assert site.allowed() == set()
