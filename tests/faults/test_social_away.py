"""Timelines while Redis or the broker is away: every page answers within a second, and a post is written once.

These are faults 7 (the broker) and 8 (Redis) of the nine in ``tests/social/test_nine_faults.py``.
"""

import json
import re
from http.cookiejar import Cookie, CookieJar
from typing import NamedTuple
from urllib.request import HTTPCookieProcessor, build_opener

import pytest
from django.conf import settings
from django.test import Client
from redis import Redis

from accounts.models import User
from mirror import registry
from mirror.windows import window
from social import keys
from social.models import Follow, Post
from social.services import posts
from tests.support.catalog.make import make_book
from tests.support.faults.crew import Crew
from tests.support.faults.tools import assert_comes_to_rest
from tests.support.faults.web import Web
from tests.support.mirror import world
from tests.support.servers import RedisServer, wait_until

pytestmark = pytest.mark.slow

FOLLOWERS = 60  # more followers than the request itself delivers to


class Scene(NamedTuple):
    """Alice and many others follow Bob, and their timelines are warm. Bob has posted about a book."""

    web: Web
    alice: User
    bob: User
    pages: list[str]


@pytest.fixture
def scene(transactional_db: None, broker_server: RedisServer, crew: Crew) -> Scene:
    """Start the site as a process, with alice's browser."""
    alice, bob, *others = User.objects.bulk_create(
        User(username=name) for name in ("alice", "bob", *(f"reader {n}" for n in range(FOLLOWERS)))
    )
    Follow.objects.bulk_create(Follow(follower=one, followee=bob) for one in (alice, *others))
    book = make_book("The Book of Sand")
    posts.create_post(bob.pk, "Bob was here #tea @alice", book_id=book.pk)
    world.warm()
    for one in (alice, bob, *others):
        assert window.warm(registry.get("timeline"), str(one.pk))  # type: ignore[arg-type]
    # every post exceeds the budget and sends a hint
    crew.environment["MIRROR_SETTINGS"] = json.dumps({"BUDGET_SECONDS": 0})
    web = Web(crew)
    pages = ["/home/", "/global/", "/u/bob/", "/tags/tea/", "/mentions/", f"/books/{book.pk}/posts/"]
    be(web, alice)
    for page in pages:
        assert "Bob was here" in web.fetch(page)
    return Scene(web, alice, bob, pages)


def be(web: Web, user: User) -> None:
    """Continue with a browser in which this user is logged in."""
    client = Client()
    client.force_login(user)
    jar, name = CookieJar(), settings.SESSION_COOKIE_NAME
    value, place = client.cookies[name].value, ("127.0.0.1", False, False, "/", True)
    jar.set_cookie(Cookie(0, name, value, None, False, *place, False, None, True, None, None, {}))
    web.visitor = build_opener(HTTPCookieProcessor(jar))


def draft(page: str, text: str) -> dict[str, str]:
    """Return the data of the page's form for a post."""
    found = dict(re.findall(r'name="(csrfmiddlewaretoken|key)" value="(\w+)"', page))
    return {**found, "text": text, "next": "/home/"}


def delivered(state: Redis, post: Post) -> int:
    """Return the number of followers with the post in their timelines."""
    followers = Follow.objects.filter(followee=post.user_id).values_list("follower_id", flat=True)
    return sum(state.zscore(keys.timeline(pk), str(post.pk)) is not None for pk in followers)


def take_away(server: RedisServer, how: str) -> None:
    if how == "hung":
        server.freeze()
    else:
        server.kill()


def bring_back(server: RedisServer, how: str) -> None:
    if how == "hung":
        server.thaw()
    else:
        server.start()


@pytest.mark.parametrize("how", ["hung", "dead"])
def test_fault_7_post_is_written_once_however_often_it_is_sent_without_the_broker(
    scene: Scene, broker_server: RedisServer, crew: Crew, state: Redis, how: str
) -> None:
    be(scene.web, scene.bob)
    form = draft(scene.web.fetch("/home/"), "while nobody takes errands")
    take_away(broker_server, how)
    for _ in range(3):
        assert "while nobody takes errands" in scene.web.ask("/posts/", form)
    found = Post.objects.get(text="while nobody takes errands")
    be(scene.web, scene.alice)
    for page in scene.pages:
        assert "Bob was here" in scene.web.ask(page)
    bring_back(broker_server, how)
    crew.worker()
    crew.beat()
    wait_until(lambda: delivered(state, found) == FOLLOWERS + 1, "the delivery to all followers")
    assert_comes_to_rest(state)


@pytest.mark.parametrize("how", ["hung", "dead"])
def test_fault_8_every_page_and_posting_work_from_sql_without_redis(
    scene: Scene, redis_server: RedisServer, broker_server: RedisServer, crew: Crew, state: Redis, how: str
) -> None:
    form = draft(scene.web.fetch("/home/"), "Redis is away")
    take_away(redis_server, how)
    take_away(broker_server, how)
    for page in (*scene.pages, "/people/", "/u/bob/followers/", "/u/bob/following/"):
        assert "<html" in scene.web.ask(page)
    for page in scene.pages:
        assert "Bob was here" in scene.web.ask(page)
    for _ in range(2):
        assert "Redis is away" in scene.web.ask("/posts/", form)
    assert Post.objects.filter(text="Redis is away", user=scene.alice).count() == 1
    for page in ("/home/", "/global/", "/u/alice/"):
        assert "Redis is away" in scene.web.ask(page)
    scene.web.new_visitor()
    for page in ("/global/", "/u/bob/", "/tags/tea/"):
        assert "Bob was here" in scene.web.ask(page)
    bring_back(redis_server, how)
    bring_back(broker_server, how)
    crew.worker()
    crew.beat()
    assert_comes_to_rest(state)
    be(scene.web, scene.alice)
    assert "Redis is away" in scene.web.fetch("/home/")
