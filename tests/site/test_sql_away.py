"""While SQL is down, mirrored pages are still served, and never show more than before."""

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from accounts.models import User
from catalog.local.index import local_copy
from mirror import registry
from mirror.windows import window
from mirror.windows.declare import WindowMirror
from shop.book_views import decay
from tests.support import warm_mirrors
from tests.support.catalog.warm import own_copy
from tests.support.world import World

__all__ = ["own_copy"]
pytestmark = pytest.mark.django_db(transaction=True)
MUTED, BLOCKED, OTHER = "reader25", "reader40", "reader5"  # muted and blocked by alice, or neither (``World``)

# Pages that need only Redis. Orders, addresses, lists of followers and old months of the log are in SQL only.
PAGES = [
    "/", "/accounts/leaderboard/", "/accounts/leaderboard/?at=me", "/books/", "/books/?q=ruby", "/books/1/",
    "/shop/sale/", "/shop/cart/", "/global/", "/tags/ruby/", "/u/reader0/", f"/u/{OTHER}/",
]  # fmt: skip
FORMS = ["/accounts/login/", "/accounts/register/"]
OWN_PAGES = ["/home/", "/accounts/sessions/"]
JSON = {"Accept": "application/json"}


@pytest.fixture
def world(redis: object, own_copy: None) -> World:
    """Create people, books and posts, all of them in Redis."""
    made = World()
    warm_mirrors.rebuild()
    decay.maintain_popularity()
    assert local_copy.ensure_loaded()
    timeline = registry.get("timeline")
    assert isinstance(timeline, WindowMirror)
    for user in (made.staff, *User.objects.filter(username__in=[MUTED, BLOCKED, OTHER])):
        window.warm(timeline, str(user.pk))
    return made


@contextmanager
def no_sql() -> Generator[None, None, None]:
    """Make every statement fail, as with a stopped database."""

    def refuse(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> None:
        raise OperationalError("the database is away")

    with connection.execute_wrapper(refuse):
        yield


def logged_in(name: str) -> Client:
    client = Client(raise_request_exception=False)
    if name:
        client.force_login(User.objects.get(username=name))
    return client


@pytest.mark.parametrize("viewer", ["", OTHER, MUTED, BLOCKED, "alice"])
def test_mirrored_pages_work_without_sql(viewer: str, world: World) -> None:
    client = logged_in(viewer)
    for url in [*PAGES, *(OWN_PAGES if viewer else FORMS)]:
        for headers in ({}, JSON):
            before = client.get(url, headers=headers)
            with no_sql():
                after = client.get(url, headers=headers)
            assert after.status_code == before.status_code == 200, (url, headers)
            shown, shown_before = (names(reply.content.decode()) for reply in (after, before))
            assert shown <= shown_before, url
            assert not shown_before - shown or viewer == "alice", url


def names(text: str) -> set[str]:
    """Return the names of the users on a page."""
    return set(re.findall(r"\breader\d+\b", text))


@pytest.mark.parametrize(("viewer", "owner"), [("alice", MUTED), ("alice", BLOCKED), (BLOCKED, "alice")])
def test_muted_or_blocked_profile_is_not_found_without_sql(viewer: str, owner: str, world: World) -> None:
    client = logged_in(viewer)
    with no_sql():
        assert client.get(f"/u/{owner}/").status_code == 404


def test_leaderboard_omits_muted_and_blocked_users_without_sql(world: World) -> None:
    client = logged_in("alice")
    before = client.get("/accounts/leaderboard/?at=me", headers=JSON)
    with no_sql():
        after = client.get("/accounts/leaderboard/?at=me", headers=JSON)
    hidden = {f"reader{n}" for n in range(20, 50)}  # muted or blocked (``World``)
    assert names(after.content.decode()) == names(before.content.decode()) - hidden
    assert after.json()["count"] == before.json()["count"]


def test_post_of_a_muted_author_is_not_found_without_sql(world: World) -> None:
    client = logged_in("alice")
    post = User.objects.get(username=MUTED).posts.create(text="Hello")
    client.get("/global/")
    url = f"/posts/{post.pk}/"
    assert client.get(url).status_code == 200
    with no_sql():
        assert client.get(url).status_code == 404
