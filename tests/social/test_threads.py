"""Replies: threads on the page of a post, the home timelines that show them, and placeholders."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mirror.redis.clients import relay_client
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.windows import window
from social.models import Block, Mute, Post, Pulled
from social.selectors import get_global_timeline, get_home_timeline, get_posts_by
from social.services import people
from social.services.posts import MAX_ANCESTORS, create_post, delete_post, hide_post
from social.timelines.threads import NESTED_REPLIES, REPLIES_PER_PAGE
from tests.support.social.timelines import follow, ids_of, make_users, measure_cost, timeline_mirror, warm_up

JSON = {"Accept": "application/json"}
pytestmark = pytest.mark.django_db(transaction=True)


class Town:
    """alice has written a post; bob and carol are other readers. Their home timelines are warm."""

    def __init__(self) -> None:
        self.alice, self.bob, self.carol = make_users("alice", "bob", "carol")
        self.post = create_post(self.alice.pk, "What a book!")
        warm_up(self.alice, self.bob, self.carol)


@pytest.fixture
def town() -> Town:
    return Town()


def reply(author: User, to: Post, text: str = "Indeed") -> Post:
    return create_post(author.pk, text, parent_id=to.pk)


def test_replies_are_counted_without_a_look_up_of_each_author(town: Town) -> None:
    reply(town.bob, town.post)
    hide_post(reply(town.carol, town.post).pk)
    User.objects.filter(pk=town.alice.pk).update(is_active=False)
    counted = Post.objects.counted()
    assert set(counted) == set(Post.objects.shown()) == set(Post.objects.filter(user=town.bob))
    assert "JOIN" not in str(counted.filter(parent_id=town.post.pk).query)


def read_thread(client: Client, address: str) -> dict[str, Any]:
    """Return a thread in JSON, after checking that SQL gives the same."""
    drain_all()
    found = client.get(address, headers=JSON)
    with sql_only():
        assert client.get(address, headers=JSON).content == found.content
    assert found.status_code == 200
    said: dict[str, Any] = found.json()
    return said


def read_home(reader: User) -> list[int]:
    """Return the first page of a home timeline, after checking that it is the same cold and from SQL."""
    drain_all()
    found = ids_of(get_home_timeline(reader.pk))
    with sql_only():
        assert ids_of(get_home_timeline(reader.pk)) == found
    mirror = timeline_mirror()
    window.cool(mirror, [str(reader.pk)], relay_client())
    window.warm(mirror, str(reader.pk))
    assert ids_of(get_home_timeline(reader.pk)) == found
    return found


def test_a_form_on_the_page_of_a_post_replies_to_it(client: Client, town: Town) -> None:
    address = f"/posts/{town.post.pk}/"
    page = client.get(address).content.decode()
    assert "<textarea" not in page
    assert '<p class="eyebrow"><a href="/global/">Posts</a></p>' in page
    client.force_login(town.bob)
    page = client.get(address).content.decode()
    assert '<p class="eyebrow"><a href="/home/">Feed</a></p>' in page
    assert f'<input type="hidden" name="parent" value="{town.post.pk}">' in page
    assert "\n@alice </textarea>" in page
    assert '<form class="composer sheet"' in page  # not shortened: its button is visible
    response = client.post("/posts/", {"text": "@alice Indeed", "parent": town.post.pk, "next": address})
    made = Post.objects.get(user=town.bob)
    assert response.headers["Location"] == f"/posts/{made.pk}/"
    assert (made.parent_id, made.parent_author_id, made.ancestors) == (town.post.pk, town.alice.pk, str(town.post.pk))
    page = client.get(response.headers["Location"]).content.decode().partition("<main")[2]
    assert page.index("What a book!") < page.index("Indeed")
    assert "Indeed" in client.get(address).content.decode()


def test_the_page_of_a_post_tells_once_that_a_reply_was_published(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    address = f"/posts/{town.post.pk}/"
    told = "Your post was published."
    assert told not in client.get(address).content.decode()
    page = client.post("/posts/", {"text": "@alice Indeed", "parent": town.post.pk}, follow=True).content.decode()
    assert page.count(told) == 1
    assert told in page.partition('<div class="notes" role="status">')[2]
    for path in (f"/posts/{Post.objects.latest('pk').pk}/", address, "/home/"):
        assert told not in client.get(path).content.decode()


def test_a_refused_reply_keeps_its_text_and_its_parent(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    response = client.post("/posts/", {"text": "x" * 600, "parent": town.post.pk})
    assert response.status_code == 400
    page = response.content.decode()
    assert "x" * 600 in page
    assert f'name="parent" value="{town.post.pk}"' in page


def test_a_form_that_is_shown_again_stays_a_reply(client: Client, town: Town) -> None:
    client.force_login(town.bob)
    form = {"text": "@alice Indeed", "parent": town.post.pk, "book_search": "emma"}
    for fields in ({**form, "find": "1"}, form):
        page = client.post("/posts/", fields).content.decode()
        assert f'name="parent" value="{town.post.pk}"' in page
        assert "Reply to alice" in page
    assert "Your post was not published" not in client.post("/posts/", {**form, "find": "1"}).content.decode()
    town.post.delete()
    # The second attempt must not publish the reply as a post of its own.
    for _ in range(2):
        page = client.post("/posts/", form | {"book_search": ""}).content.decode()
        assert f'name="parent" value="{form["parent"]}"' in page
        assert "Post not found." in page
    assert not Post.objects.filter(user=town.bob).exists()


@pytest.mark.parametrize("given", ["7654321", "0", "x", str(2**63), True, [1]])
def test_a_reply_to_a_missing_post_is_refused(client: Client, town: Town, given: Any) -> None:
    client.force_login(town.bob)
    response = client.post("/posts/", {"text": "Hm", "parent": given}, content_type="application/json")
    assert (response.status_code, response.json()["error"]["field"]) == (400, "parent")
    assert Post.objects.count() == 1


@pytest.mark.parametrize("is_blocker", [True, False])
def test_nobody_replies_across_a_block(client: Client, town: Town, is_blocker: bool) -> None:
    one, other = (town.alice, town.bob) if is_blocker else (town.bob, town.alice)
    Block.objects.create(blocker=one, blocked=other)
    client.force_login(town.bob)
    assert client.post("/posts/", {"text": "Hm", "parent": town.post.pk}, headers=JSON).status_code == 400
    assert Post.objects.count() == 1


def test_a_thread_has_two_levels_and_counts_the_rest(client: Client, town: Town) -> None:
    one, two = reply(town.bob, town.post), reply(town.carol, town.post)
    nested = [reply(town.alice, one) for _ in range(NESTED_REPLIES + 2)]
    said = read_thread(client, f"/posts/{town.post.pk}/")
    assert [each["id"] for each in said["results"]] == [one.pk, two.pk]
    assert [each["replies"] for each in (said, *said["results"])] == [2, NESTED_REPLIES + 2, 0]
    first, second = (each["first_replies"] for each in said["results"])
    assert ([each["id"] for each in first], second) == ([each.pk for each in nested[:NESTED_REPLIES]], [])
    assert "2 more replies" in client.get(f"/posts/{town.post.pk}/").content.decode()


def test_pages_of_replies_are_stable_both_ways(client: Client, town: Town) -> None:
    replies = [reply(town.bob, town.post).pk for _ in range(2 * REPLIES_PER_PAGE + 3)]
    address: str | None = f"/posts/{town.post.pk}/"
    pages, previous = [], []
    while address:
        said = read_thread(client, address)
        pages.append([each["id"] for each in said["results"]])
        previous.append(said["previous"])
        address = said["next"]
        reply(town.carol, town.post)  # a new reply is the last one, and shifts none
    assert [pk for page in pages for pk in page][: len(replies)] == replies
    assert previous[0] is None
    assert [[each["id"] for each in read_thread(client, one)["results"]] for one in previous[1:]] == pages[:-1]
    assert read_thread(client, previous[1])["previous"] is None


def test_the_posts_above_are_bounded(client: Client, town: Town) -> None:
    posts = [town.post]
    for _ in range(MAX_ANCESTORS + 2):
        posts.append(reply(town.bob, posts[-1]))
    said = read_thread(client, f"/posts/{posts[-1].pk}/")
    assert [each["id"] for each in said["above"]] == [each.pk for each in posts[-1 - MAX_ANCESTORS : -1]]
    page = client.get(f"/posts/{posts[-1].pk}/").content.decode()
    assert f'<a class="button quiet" href="/posts/{posts[2].pk}/">Earlier in this thread</a>' in page


@pytest.mark.parametrize("how", ["delete", "hide", "block", "mute"])
def test_a_missing_post_leaves_a_placeholder(client: Client, town: Town, how: str) -> None:
    middle = reply(town.bob, town.post)
    last = reply(town.carol, middle)
    client.force_login(make_users("dora")[0])
    dora = User.objects.get(username="dora")
    if how == "delete":
        delete_post(middle.pk, by=town.bob.pk)
    elif how == "hide":
        hide_post(middle.pk)
    else:
        (people.block if how == "block" else people.mute)(dora.pk, town.bob.pk)
    said = read_thread(client, f"/posts/{last.pk}/")
    assert [each.get("text") for each in said["above"]] == ["What a book!", None]
    assert said["above"][1] == {"id": middle.pk}
    page = client.get(f"/posts/{last.pk}/").content.decode()
    assert page.count("This post was deleted, or is not visible to you.") == 1
    said = read_thread(client, f"/posts/{middle.pk}/")
    assert ("text" in said) is (how == "mute")
    assert [each["id"] for each in said["results"]] == [last.pk]
    delete_post(last.pk, by=town.carol.pk)
    drain_all()
    assert client.get(f"/posts/{middle.pk}/").status_code == (200 if how == "mute" else 404)


@pytest.mark.parametrize("how", [Block, Mute])
def test_threads_lack_blocked_and_muted_readers(client: Client, town: Town, how: Any) -> None:
    one, two = reply(town.bob, town.post), reply(town.carol, town.post)
    reply(town.bob, two)
    dora = make_users("dora")[0]
    ends = ("blocker", "blocked") if how is Block else ("user", "muted")
    how.objects.create(**dict(zip(ends, (dora, town.bob), strict=True)))
    client.force_login(dora)
    said = read_thread(client, f"/posts/{town.post.pk}/")
    assert [(each["id"], each["first_replies"]) for each in said["results"]] == [(two.pk, [])]
    assert one.pk not in ids_of(get_home_timeline(dora.pk))


def test_followers_see_replies_to_readers_whom_they_follow(town: Town) -> None:
    made = reply(town.bob, town.post)
    own = reply(town.bob, made)
    to_carol = reply(town.bob, create_post(town.carol.pk, "Hello"))
    follow(town.carol, town.bob)
    assert read_home(town.carol)[:2] == [to_carol.pk, to_carol.parent_id]
    assert made.pk not in read_home(town.carol)
    assert own.pk in read_home(town.carol)
    later = reply(town.bob, town.post)
    assert later.pk not in read_home(town.carol)
    people.follow(town.carol.pk, town.alice.pk)
    assert {made.pk, later.pk} <= set(read_home(town.carol))
    people.mute(town.carol.pk, town.alice.pk)
    assert not {made.pk, later.pk} & set(read_home(town.carol))
    assert {made.pk, later.pk} <= set(read_home(town.bob))


def test_followers_pull_replies_by_the_same_rule(town: Town, nothing_remembered: None) -> None:
    Pulled.objects.create(user=town.bob, state=Pulled.State.ON)
    follow(town.carol, town.bob)
    made, own = reply(town.bob, town.post), create_post(town.bob.pk, "Hello")
    assert Post.objects.get(pk=made.pk).is_pulled
    assert read_home(town.carol) == [own.pk]
    people.follow(town.carol.pk, town.alice.pk)
    assert made.pk in read_home(town.carol)


def test_profiles_list_replies_and_the_global_timeline_does_not(client: Client, town: Town) -> None:
    made = reply(town.bob, town.post)
    drain_all()
    assert ids_of(get_posts_by(town.bob.pk, None)) == [made.pk]
    assert ids_of(get_global_timeline(None)) == [town.post.pk]
    assert "Replying to <bdi>@alice</bdi>" in client.get("/u/bob/").content.decode()


def test_a_thread_has_a_fixed_cost(client: Client, town: Town) -> None:
    """The page of a stranger is stored, and the reads of a reader are made ahead with the session."""
    middle = reply(town.bob, town.post)
    for _ in range(5):
        reply(town.carol, reply(town.bob, middle))
    drain_all()
    address = f"/posts/{middle.pk}/"
    client.get(address)
    assert measure_cost(lambda: client.get(address)) == (1, 0)
    client.force_login(town.alice)
    for _ in range(2):
        client.get(address)
    assert measure_cost(lambda: client.get(address)) == (1, 0)
