"""/home/, /global/ and the front page: content in HTML and JSON, and cost."""

import re
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from catalog.local.index import local_copy
from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from shop.book_views import decay
from social.models import Block, Post
from social.timelines.pages import PAGE_SIZE, parse_cursor
from tests.support.site.html import find_policy_violations
from tests.support.social.timelines import follow, make_posts, make_users, measure_cost, newest_first, warm_up

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("nothing_remembered")]
JSON, HTMX = {"Accept": "application/json"}, {"HX-Request": "true"}


@pytest.fixture
def bob(alice: User) -> User:
    """Create an author that alice follows, with a page and a half of posts."""
    bob = make_users("bob")[0]
    follow(alice, bob)
    make_posts(bob, PAGE_SIZE + 10)
    return bob


@pytest.fixture
def reader(alice: User, bob: User, client: Client) -> Client:
    """Return Alice's browser after a first request, with warm mirrors and a loaded catalogue."""
    client.force_login(alice)
    warm_up(alice)
    decay.rebuild_popularity()
    assert local_copy.ensure_loaded()
    for path in ("/home/", "/global/", "/"):
        client.get(path)
    return client


def found(client: Client, path: str) -> Any:
    return client.get(path, headers=JSON).json()


def page_of(client: Client, path: str) -> str:
    """Return the page without tokens and keys of forms, which differ in each response."""
    return re.sub(r'value="\w{32,}"', "", client.get(path).content.decode())


@pytest.mark.parametrize("path", ["/home/", "/global/"])
def test_pages_show_the_timelines(reader: Client, path: str) -> None:
    page = reader.get(path).content.decode()
    assert page.count('<li class="post"') == PAGE_SIZE
    assert "bob says 29" in page
    assert "bob says 9<" not in page
    assert find_policy_violations(page) == []
    older = found(reader, path)["next"]
    assert f'href="{older}"' in page
    second = reader.get(older).content.decode()
    assert (second.count('<li class="post"'), 'rel="next"' in second) == (10, False)
    part = reader.get(older, headers=HTMX).content.decode()
    assert (part.count('<li class="post"'), "<html" in part) == (10, False)
    assert {"Accept", "Cookie", "HX-Request"} <= set(reader.get(path).headers["Vary"].split(", "))


@pytest.mark.parametrize("path", ["/home/", "/global/"])
def test_the_json_consists_of_the_records(reader: Client, path: str) -> None:
    first = found(reader, path)
    assert first.keys() == {"results", "next", "newest"}
    record = {"id", "user", "time", "edited", "text", "note", "book", "reply_to", "mentions", "is_private"}
    assert first["results"][0].keys() == record | {"kind", "stars", "likes", "is_liked", "replies"}
    second = found(reader, first["next"])
    assert second["next"] is None
    assert [post["id"] for post in first["results"] + second["results"]] == newest_first(list(Post.objects.all()))
    assert first["newest"] == first["results"][0]["id"]


def test_pages_have_a_fixed_cost(reader: Client) -> None:
    """The home timeline also asks what its authors have posted since."""
    for headers in ({}, JSON, {}, JSON):
        reader.get("/home/", headers=headers)
        reader.get("/global/")
    assert measure_cost(lambda: reader.get("/home/")) == (1, 0)
    assert measure_cost(lambda: reader.get("/home/", headers=JSON)) == (1, 0)
    assert measure_cost(lambda: reader.get("/global/")) == (1, 0)
    stranger = Client()
    stranger.get("/global/")
    assert measure_cost(lambda: stranger.get("/global/")) == (1, 0)


def test_the_front_page_reads_ahead_what_it_read_before(reader: Client) -> None:
    """The round trips: the session with all previous reads, the sales, which depend on the time, and the home timeline,
    which samples the reader's blocks and mutes.
    """
    again = Client()
    again.force_login(User.objects.get(pk=reader.session["_auth_user_id"]))
    drain_all()
    assert measure_cost(lambda: again.get("/")) > (2, 0)
    assert [measure_cost(lambda: again.get("/")) for _ in range(2)] == [(2, 0)] * 2


def test_prefetched_reads_are_as_recent_as_others(reader: Client, alice: User, bob: User) -> None:
    stranger = Client()
    for number in range(3):
        Post.objects.create(user=bob, text=f"News, the {number}.")
        drain_all()
        for client in (reader, stranger):
            assert f"News, the {number}." in client.get("/").content.decode()
    Block.objects.create(blocker=alice, blocked=bob)
    drain_all()
    assert ["News" in client.get("/").content.decode() for client in (reader, stranger)] == [False, True]


@pytest.mark.parametrize("path", ["/home/", "/global/", "/"])
def test_sql_gives_the_same_page(reader: Client, path: str) -> None:
    page, data = page_of(reader, path), reader.get(path, headers=JSON).content
    with sql_only():
        assert page_of(reader, path) == page
        if path != "/":
            assert reader.get(path, headers=JSON).content == data
    breaker.failed()
    if path != "/":
        assert reader.get(path, headers=JSON).content == data


def test_visitors_have_no_home_timeline(client: Client) -> None:
    assert client.get("/home/").headers["Location"] == "/accounts/login/?next=/home/"
    refused = client.get("/home/", headers=JSON)
    assert (refused.status_code, refused.json()) == (401, {"error": {"message": "Log in first."}})
    assert "Feed" not in client.get("/").content.decode()


def test_an_empty_timeline_suggests_next_steps(alice: User, client: Client) -> None:
    client.force_login(alice)
    warm_up(alice)
    decay.rebuild_popularity()
    page = client.get("/home/").content.decode()
    assert 'href="/people/"' in page
    assert 'name="text"' in page
    assert found(client, "/home/") == {"results": [], "next": None, "newest": 0}
    assert "No posts yet" in client.get("/global/").content.decode()
    assert "Posts from readers" not in client.get("/").content.decode()


@pytest.mark.parametrize("path", ["/home/", "/global/"])
def test_an_invalid_cursor_is_the_first_page(reader: Client, path: str) -> None:
    first = found(reader, path)
    for after in ("x", "-1", "0", "1.5", "1e3", "%00", "%ff", "٣", str(2**63), "9" * 5000, ""):
        assert found(reader, f"{path}?after={after}") == first, after
        with sql_only():
            assert found(reader, f"{path}?after={after}") == first, after


@pytest.mark.parametrize("path", ["/home/", "/global/"])
def test_the_id_of_a_missing_post_is_a_valid_cursor(reader: Client, path: str) -> None:
    for after in (1, 2**53 + 1, 2**63 - 1):
        assert parse_cursor(str(after)) == after
        page = found(reader, f"{path}?after={after}")
        with sql_only():
            assert found(reader, f"{path}?after={after}") == page, after
        assert len(page["results"]) == (0 if after == 1 else PAGE_SIZE), after
        assert reader.get(f"{path}?after={after}").status_code == 200, after


def test_a_block_hides_posts_on_timelines(alice: User, bob: User, reader: Client) -> None:
    Block.objects.create(blocker=bob, blocked=alice)
    warm_up(alice)
    for path in ("/home/", "/global/", "/"):
        assert "bob says" not in reader.get(path).content.decode()
    for path in ("/home/", "/global/"):
        assert found(reader, path)["results"] == []


def test_texts_are_escaped(alice: User, client: Client) -> None:
    Post.objects.create(user=alice, text="<script>alert(1)</script> <b>bold</b>")
    client.force_login(alice)
    warm_up(alice)
    decay.rebuild_popularity()
    for path in ("/home/", "/global/", "/"):
        page = client.get(path).content.decode()
        assert "<script>alert" not in page
        assert "&lt;b&gt;bold" in page


def test_only_the_home_timeline_forbids_caching(reader: Client) -> None:
    assert reader.get("/home/").headers["Cache-Control"] == "private, no-cache"
    assert reader.post("/home/").status_code == 405
    assert reader.post("/global/").status_code == 405
