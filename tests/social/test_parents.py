"""The line above a reply: whom it answers, and the beginning of that post."""

from functools import partial
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.models import Block, Mute, Post
from social.queries.records import PostRecord
from social.selectors import get_home_timeline, get_posts_by
from social.services.posts import create_post, delete_post, hide_post
from social.timelines import home
from tests.support.social.timelines import follow, make_users, measure_cost, warm_up

pytestmark = pytest.mark.django_db(transaction=True)


class Talk:
    """bob answers a post by alice, and carol, who follows both, reads. Her home timeline is warm."""

    def __init__(self, **post: Any) -> None:
        home._links.clear()
        self.alice, self.bob, self.carol = make_users("alice", "bob", "carol")
        follow(self.carol, self.alice, self.bob)
        self.post = create_post(self.alice.pk, "A quiet book about rivers.", **post)
        self.reply = create_post(self.bob.pk, "Indeed", parent_id=self.post.pk)
        warm_up(self.alice, self.bob, self.carol)

    def read_parent(self, viewer: User | None) -> PostRecord | None:
        """Return what the reply answers on the profile of its author, after checking that SQL gives the same."""
        drain_all()
        read = partial(get_posts_by, self.bob.pk, viewer.pk if viewer else None)
        found = read().posts[0].parent
        with sql_only():
            from_sql = read().posts[0].parent
        assert (found and found.raw) == (from_sql and from_sql.raw)
        return found


@pytest.fixture
def talk() -> Talk:
    return Talk()


def read_line(client: Client, address: str) -> str:
    """Return the line above the first reply of a page."""
    text = client.get(address).content.decode()
    return text.partition('<p class="post-reply">')[2].partition("</p>")[0]


def test_a_reply_names_the_author_and_quotes_the_post(client: Client, talk: Talk) -> None:
    line = read_line(client, "/u/bob/")
    assert f'href="/posts/{talk.post.pk}/"' in line
    assert "Replying to <bdi>@alice</bdi></span> " in line
    assert ">A quiet book about rivers.</span>" in line
    page = client.get("/u/bob/").content.decode()
    assert page.index("post-author") < page.index("post-reply") < page.index("post-text")
    client.force_login(talk.carol)
    assert "A quiet book about rivers." in read_line(client, "/home/")


def test_a_post_without_a_parent_has_no_line(client: Client, talk: Talk) -> None:
    assert read_line(client, "/u/alice/") == ""


def test_a_veiled_post_is_quoted_by_its_note(client: Client) -> None:
    Talk(note="the end")
    line = read_line(client, "/u/bob/")
    assert "the end" in line
    assert "rivers" not in line


@pytest.mark.parametrize(
    "remove", [lambda post: hide_post(post.pk), lambda post: delete_post(post.pk, by=post.user_id)]
)
def test_a_missing_post_is_not_quoted(client: Client, talk: Talk, remove: Any) -> None:
    assert talk.read_parent(None) is not None
    remove(talk.post)
    assert talk.read_parent(None) is None
    line = read_line(client, "/u/bob/")
    assert "Replying to a post" in line
    assert "alice" not in line


def test_posts_of_private_accounts_are_not_quoted(talk: Talk) -> None:
    User.objects.filter(pk=talk.alice.pk).update(is_private=True)
    for viewer in (None, talk.carol, talk.alice):
        assert talk.read_parent(viewer) is None


def test_ratings_are_not_quoted(talk: Talk) -> None:
    Post.objects.filter(pk=talk.post.pk).update(kind=Post.Kind.RATING, text="")
    assert talk.read_parent(talk.carol) is None


@pytest.mark.parametrize("is_known", [False, True])
def test_blocked_and_muted_authors_are_not_quoted(talk: Talk, is_known: bool) -> None:
    if is_known:
        assert talk.read_parent(talk.carol) is not None
    Mute.objects.create(user=talk.carol, muted=talk.alice)
    assert talk.read_parent(talk.carol) is None
    Mute.objects.all().delete()
    assert talk.read_parent(talk.carol) is not None
    Block.objects.create(blocker=talk.alice, blocked=talk.carol)
    assert talk.read_parent(talk.carol) is None
    assert talk.read_parent(None) is not None


def test_a_home_timeline_reads_known_replies_in_two_round_trips(talk: Talk) -> None:
    """The first page with a reply learns what it answers; the process remembers it, because it never changes."""
    read = partial(get_home_timeline, talk.carol.pk)
    assert measure_cost(read) == (3, 0)
    assert measure_cost(read) == (2, 0)
    assert read().posts[0].parent is not None


def test_a_profile_with_replies_takes_as_many_round_trips_as_one_without(client: Client, talk: Talk) -> None:
    drain_all()
    for reader in (None, talk.carol):
        if reader:
            client.force_login(reader)
        costs = set()
        for address in ("/u/alice/", "/u/bob/"):
            for _ in range(3):
                client.get(address)
            costs.add(measure_cost(partial(client.get, address)))
        assert len(costs) == 1


@pytest.mark.parametrize("address", ["/mentions/", "/tags/rivers/"])
def test_pages_with_replies_take_one_round_trip_again(client: Client, talk: Talk, address: str) -> None:
    create_post(talk.bob.pk, "@carol see #rivers", parent_id=talk.post.pk)
    drain_all()
    client.force_login(talk.carol)
    for _ in range(3):
        assert "Replying to <bdi>@alice</bdi>" in read_line(client, address)
    assert measure_cost(lambda: client.get(address)) == (1, 0)


def test_successive_replies_to_one_post_quote_it_once(client: Client, talk: Talk) -> None:
    other = create_post(talk.alice.pk, "Another day")
    for text, parent in (("First", talk.post), ("Second", talk.post), ("Elsewhere", other), ("Third", talk.post)):
        create_post(talk.bob.pk, text, parent_id=parent.pk)
    drain_all()
    page = client.get("/u/bob/").content.decode()
    quoted = [part.rpartition('dir="auto">')[2] for part in page.partition('id="posts"')[2].split("</p>")]
    shown = [text for text in quoted if text in ("First", "Second", "Elsewhere", "Third", "Indeed")]
    assert shown == ["Third", "Elsewhere", "Second", "First", "Indeed"]
    assert page.count("A quiet book about rivers.") == 2
    assert page.count('<p class="post-reply">') == 3
    assert page.count('<p class="sr-only">Replying to <bdi>@alice</bdi></p>') == 2
