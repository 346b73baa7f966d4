"""Ended sessions, blocks, hidden posts and deactivated people are respected as soon as a fault is over.

Each fault keeps the change from Redis while markers and data there stay as they were. The reader is another process,
as far as it knows of the fault: the state that this process remembers is forgotten.
"""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import Session, User
from accounts.session_services import end_session
from mirror import hints, naming, relay
from mirror.models import Change
from mirror.redis import breaker
from social.models import Block, Post
from tests.support.accounts.sessions import digest_in, log_in
from tests.support.servers import RedisServer, wait_until
from tests.support.timeouts import hung
from tests.support.whole import rebuild

HEARTBEAT_SECONDS = 0.3  # how long readers believe what Redis had before the fault
TEXT = "seen through the window"


class Site:
    """alice, logged in; bob, who posted something; and a browser of each."""

    def __init__(self) -> None:
        self.alice, self.bob = (
            User.objects.create_user(name, password="a quiet bookshop") for name in ("alice", "bob")
        )
        self.browser, self.bobs = log_in(self.alice), log_in(self.bob)
        self.post = Post.objects.create(user=self.bob, text=TEXT)

    def is_in(self) -> bool:
        return self.browser.get("/accounts/sessions/").status_code == 200

    def log_bob_out(self) -> None:
        """With a copy of his cookies left."""
        left = Client()
        left.cookies.load({name: morsel.value for name, morsel in self.bobs.cookies.items()})
        self.bobs.post("/accounts/logout/")
        self.bobs = left

    def is_bobs_token_good(self) -> bool:
        return self.bobs.get("/accounts/sessions/").status_code == 200

    def is_seen(self) -> bool:
        return TEXT in self.browser.get("/global/").content.decode()

    def is_seen_at_home(self) -> bool:
        return TEXT in self.browser.get("/home/").content.decode()

    def is_seen_by_strangers(self) -> bool:
        return TEXT in Client().get("/global/").content.decode()


Case = tuple[Callable[[Site], object], Callable[[Site], bool]]
CASES: dict[str, Case] = {
    "logged out": (Site.log_bob_out, Site.is_bobs_token_good),
    "session ended": (lambda site: end_session(site.alice, digest_in(site.browser)), Site.is_in),
    "session deleted by SQL": (lambda site: Session.objects.filter(user=site.alice).delete(), Site.is_in),
    "deactivated by SQL": (lambda site: User.objects.filter(pk=site.alice.pk).update(is_active=False), Site.is_in),
    "author deactivated": (
        lambda site: User.objects.filter(pk=site.bob.pk).update(is_active=False),
        Site.is_seen_by_strangers,
    ),
    "post hidden": (lambda site: Post.objects.update(is_hidden=True), Site.is_seen_by_strangers),
    "post deleted": (lambda site: Post.objects.all().delete(), Site.is_seen),
    "blocked": (lambda site: Block.objects.create(blocker=site.bob, blocked=site.alice), Site.is_seen),
    "blocked, at home": (lambda site: Block.objects.create(blocker=site.alice, blocked=site.bob), Site.is_seen_at_home),
}  # fmt: skip


@pytest.fixture
def site(redis_server: RedisServer, transactional_db: None) -> Site:
    """The site, with everything in Redis."""
    site = Site()
    site.browser.post("/u/bob/follow/")
    rebuild()
    relay.drain_all()
    for page in ("/home/", "/global/", "/accounts/sessions/"):
        site.browser.get(page)
    relay.drain_all()
    return site


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
    """MISCONF: the file's name is taken by a folder."""
    with server.client() as client:
        (server.data / client.config_get("dbfilename")["dbfilename"]).mkdir()
        client.config_set("save", "3600 1")
        client.bgsave()
        wait_until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "a failed save")
        yield
        client.config_set("save", "")


FAULTS = {"frozen": frozen, "out of memory": out_of_memory, "unable to save": unable_to_save}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("case", CASES)
def test_a_change_that_redis_did_not_take_is_respected(
    site: Site, redis_server: RedisServer, settings: Settings, case: str, fault: str
) -> None:
    change, is_allowed = CASES[case]
    assert is_allowed(site)
    settings.MIRROR = {**settings.MIRROR, "HEARTBEAT_SECONDS": HEARTBEAT_SECONDS}
    rebuild()
    with FAULTS[fault](redis_server):
        change(site)
        breaker.reset()
        time.sleep(HEARTBEAT_SECONDS)  # at least: by then the heartbeat has expired
        assert not is_allowed(site)
    breaker.reset()
    assert Change.objects.pending().exists(), "the change must not be in Redis"
    assert not is_allowed(site)


@pytest.mark.parametrize("case", CASES)
def test_a_change_that_no_relay_has_drained_is_respected(
    site: Site, redis_server: RedisServer, settings: Settings, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    change, is_allowed = CASES[case]
    monkeypatch.setattr(hints, "flush", lambda: None)
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
    assert is_allowed(site)
    with redis_server.client() as client:
        client.delete(naming.heartbeat())
    assert is_allowed(site)
    change(site)
    assert Change.objects.pending().exists()
    assert not is_allowed(site)
