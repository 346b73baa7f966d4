"""Timelines in common windows (global, book, hashtag, mentions) and profiles, with blocks and mutes."""

from functools import partial

import pytest

from accounts.models import User
from catalog.models import Book
from mirror import registry
from mirror.redis.clients import breaker
from mirror.relay import drains
from social import selectors
from social.models import Block, Hashtag, Mention, Mute, Post
from social.timelines.pages import PAGE_SIZE, PostPage
from tests.support.social.timelines import (
    ids_of,
    make_posts,
    make_users,
    measure_cost,
    newest_first,
    raw_posts,
    read_all_ids,
    read_pages,
    warm_up,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("cluster")]


class Place:
    """A timeline that posts of any author can reach."""

    def __init__(self, kind: str) -> None:
        self.kind, self.book, self.reader = kind, Book.objects.create(title="Middlemarch"), make_users("reader")[0]

    def make_posts(self, author: User, count: int = 1) -> list[Post]:
        """Create posts that belong to the timeline."""
        made = make_posts(author, count, book=self.book)
        Hashtag.objects.bulk_create(Hashtag(post=post, name="tea") for post in made)
        Mention.objects.bulk_create(Mention(post=post, user=self.reader, name="reader") for post in made)
        return made

    def read(self, viewer: User | None, after: int | None = None) -> PostPage:
        """Read a page as ``viewer``, if the timeline is public."""
        pk = viewer.pk if viewer else None
        if self.kind == "global":
            return selectors.get_global_timeline(pk, after)
        if self.kind == "book_posts":
            return selectors.get_posts_about(self.book.pk, pk, after)
        if self.kind == "hashtag":
            return selectors.get_posts_tagged("tea", pk, after)
        return selectors.get_mentions_of(self.reader.pk, after)

    def window(self) -> type:
        """Return the class of the timeline's mirror."""
        return type(registry.get(self.kind))


@pytest.fixture(params=["global", "book_posts", "hashtag", "mentions"])
def place(request: pytest.FixtureRequest) -> Place:
    return Place(request.param)


def viewer_of(place: Place, alice: User) -> User:
    """Return the viewer of the timeline: for mentions, the mentioned reader."""
    return place.reader if place.kind == "mentions" else alice


def test_readers_and_visitors_see_all_posts(place: Place, alice: User) -> None:
    bob, carol = make_users("bob", "carol")
    said = place.make_posts(bob, 30) + place.make_posts(carol, 15)
    other = make_posts(bob, 2)
    warm_up()
    me = viewer_of(place, alice)
    wanted = newest_first(said, other if place.kind == "global" else [])
    assert read_all_ids(partial(place.read, me)) == wanted
    assert measure_cost(lambda: place.read(me)) == (3, 0)
    if place.kind != "mentions":
        assert read_all_ids(partial(place.read, None)) == wanted
        assert measure_cost(lambda: place.read(None)) == (2, 0)


@pytest.mark.parametrize("count", [0, 1, PAGE_SIZE, PAGE_SIZE + 1, 29, 30, 31, 40, 41, 75])
def test_sql_continues_below_a_full_window(
    place: Place, alice: User, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(place.window(), "length", 30)
    said = place.make_posts(make_users("bob")[0], count)
    warm_up()
    assert read_all_ids(partial(place.read, viewer_of(place, alice))) == newest_first(said)
    assert read_pages(partial(place.read, alice))[-1].after is None


def test_sql_returns_the_same_bytes_without_redis(place: Place, alice: User) -> None:
    place.make_posts(make_users("bob")[0], 25)
    warm_up()
    found = read_pages(partial(place.read, alice))
    breaker.failed()
    assert raw_posts(read_pages(partial(place.read, alice))) == raw_posts(found)
    assert measure_cost(lambda: place.read(alice)) == (0, 8)


@pytest.mark.parametrize(
    ("model", "one", "other"), [(Block, "blocker", "blocked"), (Block, "blocked", "blocker"), (Mute, "user", "muted")]
)
def test_blocked_and_muted_authors_are_left_out(
    place: Place, alice: User, model: type[Block] | type[Mute], one: str, other: str
) -> None:
    bob, carol = make_users("bob", "carol")
    me = viewer_of(place, alice)
    seen = []
    for _ in range(12):
        place.make_posts(bob, 5)
        seen += place.make_posts(carol, 3)
    model.objects.create(**{one: me, other: bob})
    warm_up()
    assert read_all_ids(partial(place.read, me)) == newest_first(seen)


def test_the_scan_of_blocked_posts_is_bounded(place: Place, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("social.timelines.pages.FURTHER_IDS", (30,))
    bob, carol = make_users("bob", "carol")
    me = viewer_of(place, alice)
    seen = place.make_posts(carol, 3)
    place.make_posts(bob, 200)
    Mute.objects.create(user=me, muted=bob)
    warm_up()
    page = place.read(me)
    assert (page.posts, page.newest) == ([], 0)
    assert page.after is not None
    assert read_all_ids(partial(place.read, me)) == newest_first(seen)


def test_deleted_posts_are_skipped(place: Place, alice: User) -> None:
    said = place.make_posts(make_users("bob")[0], 50)
    warm_up()
    Post.objects.filter(pk__in=[post.pk for post in said[30:48]]).update(is_hidden=True)
    drains.drain_keys("post", [str(post.pk) for post in said])
    assert read_all_ids(partial(place.read, viewer_of(place, alice))) == newest_first(said[:30] + said[48:])


def test_a_profile_takes_two_round_trips(alice: User) -> None:
    bob = make_users("bob")[0]
    said = make_posts(bob, 50)
    make_posts(alice, 5)
    warm_up()
    for viewer in (None, alice.pk, bob.pk):
        assert read_all_ids(partial(selectors.get_posts_by, bob.pk, viewer)) == newest_first(said)
        assert measure_cost(partial(selectors.get_posts_by, bob.pk, viewer)) == (2, 0)


@pytest.mark.parametrize(("blocker", "blocked"), [("alice", "bob"), ("bob", "alice")])
def test_a_block_empties_a_profile(alice: User, blocker: str, blocked: str) -> None:
    everyone = {"alice": alice, "bob": make_users("bob")[0]}
    make_posts(everyone["bob"], 5)
    Block.objects.create(blocker=everyone[blocker], blocked=everyone[blocked])
    warm_up()
    assert read_all_ids(partial(selectors.get_posts_by, everyone["bob"].pk, alice.pk)) == []


def test_profiles_of_muted_readers_show_posts(alice: User) -> None:
    bob = make_users("bob")[0]
    said = make_posts(bob, 5)
    Mute.objects.create(user=alice, muted=bob)
    warm_up()
    assert read_all_ids(partial(selectors.get_posts_by, bob.pk, alice.pk)) == newest_first(said)


def test_latest_posts_are_limited_to_the_count(alice: User) -> None:
    bob, carol = make_users("bob", "carol")
    said = make_posts(bob, 10)
    make_posts(carol, 3)
    Mute.objects.create(user=alice, muted=carol)
    warm_up()
    page = selectors.get_latest_posts(alice.pk, 6)
    assert (ids_of(page), page.after, page.newest) == (newest_first(said)[:6], None, said[-1].pk)
    assert measure_cost(lambda: selectors.get_latest_posts(None, 6)) == (2, 0)
