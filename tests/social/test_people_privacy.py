"""A block hides both readers from each other on every page, in HTML and JSON."""

from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import nullcontext
from itertools import product
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, reverse
from django.utils import timezone

from accounts.models import User
from accounts.services import record_login
from catalog.lists.services import ListDraft, add_book, create_list
from catalog.models import Book
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.models import Follow, Mention, Post
from social.services import people
from social.services.posts import create_post
from social.urls import urlpatterns
from tests.support.warm_mirrors import rebuild, without_drains

ACCEPT: tuple[dict[str, str], ...] = ({}, {"Accept": "application/json"}, {"HX-Request": "true"})
TAG = "swords"
# Views that change data, or answer visitors and both readers alike.
CHANGING = {"block", "delete_post", "edit_post", "like", "unlike"}

pytestmark = pytest.mark.django_db(transaction=True)


def words(user: User) -> str:
    """Return the text that only this user's post contains."""
    return f"Spoken by number {user.pk}!"


class Town:
    """Xanthippe has blocked Berengar; both follow Carol, who follows them.

    Both have posted about the same book with the same hashtag, and mention each other and Carol. All have logged in.
    The two still follow each other, through rows that bypassed the services.
    """

    def __init__(self) -> None:
        with without_drains():
            self._make_rows()
        rebuild()
        drain_all()

    def _make_rows(self) -> None:
        self.blocker, self.blocked, self.carol = (
            User.objects.create(username=name, shows_logins=True) for name in ("Xanthippe", "Berengar", "Carol")
        )
        self.book = Book.objects.create(title="A book", popularity=1, rating="4.0")
        everybody = (self.blocker, self.blocked, self.carol)
        for one in everybody:
            for other in everybody:
                if one != other:
                    people.follow(one.pk, other.pk)
            record_login(one)
        self.posts: dict[int, Post] = {}
        for one in everybody:
            to = "" if one == self.carol else " For @Carol and @berengar and @xanthippe."
            self.posts[one.pk] = create_post(one.pk, f"{words(one)} #{TAG}{to}", book_id=self.book.pk)
        self.lists = {one.pk: create_list(one.pk, ListDraft(words(one))).pk for one in everybody}
        for pk, made in self.lists.items():
            add_book(pk, made, self.book.pk, timezone.localdate())
        people.block(self.blocker.pk, self.blocked.pk)
        pairs = ((self.blocker, self.blocked), (self.blocked, self.blocker))
        Follow.objects.bulk_create(Follow(follower=one, followee=other) for one, other in pairs)

    def other(self, viewer: User) -> User:
        return self.blocked if viewer == self.blocker else self.blocker

    def addresses(self, viewer: User) -> Iterator[tuple[str, str]]:
        """Yield every address of social for each reader and object, and pages with parts of them."""
        for pattern in urlpatterns:
            if isinstance(pattern, URLPattern) and pattern.name not in CHANGING:
                for given in self._arguments(pattern, viewer):
                    yield str(pattern.name), reverse(f"social:{pattern.name}", kwargs=given)
        yield "front", "/"
        yield "book", f"/books/{self.book.pk}/"
        yield "leaderboard", "/accounts/leaderboard/"

    def _arguments(self, pattern: URLPattern, viewer: User) -> list[dict[str, Any]]:
        names = set(pattern.pattern.regex.groupindex)
        of_books = pattern.name in ("book_posts", "book_feed")
        posts = {pk: post.pk for pk, post in self.posts.items()}
        owned = self.lists if pattern.name == "list" else posts
        found: dict[str, list[Any]] = {
            "name": [self.other(viewer).username, "Carol", viewer.username],
            "hashtag": [TAG],
            "shelf": ["read"],
            "year": [2026],
            "file": [f"{'0' * 24}-96.webp"],
            "pk": [self.book.pk] if of_books else [owned[self.other(viewer).pk], owned[self.carol.pk]],
        }
        assert names <= found.keys(), f"{pattern} takes what this test does not know"
        ordered = sorted(names)
        return [dict(zip(ordered, values, strict=True)) for values in product(*(found[name] for name in ordered))]


@pytest.fixture
def town() -> Town:
    return Town()


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_blocked_readers_see_nothing_of_the_blocker(town: Town, way: str) -> None:
    for name, texts in walk(town, town.blocked, way).items():
        for text in texts:
            assert words(town.blocker) not in text, name
            assert town.blocker.username not in text, name


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_blockers_see_the_blocked_reader_only_where_they_unblock(town: Town, way: str) -> None:
    for name, texts in walk(town, town.blocker, way).items():
        for text in texts:
            assert words(town.blocked) not in text, name
            if name not in {"people", "blocked", "person", "followers", "following", "shelves"}:
                assert town.blocked.username not in text, name


@pytest.mark.slow(20)
@pytest.mark.parametrize("way", ["redis", "sql"])
def test_pages_show_both_readers_without_the_block(town: Town, way: str) -> None:
    people.unblock(town.blocker.pk, town.blocked.pk)
    for viewer in (town.blocked, town.blocker):
        found = walk(town, viewer, way)
        spoken = {name for name, texts in found.items() if any(words(town.other(viewer)) in text for text in texts)}
        assert spoken == {
            "home",
            "global",
            "post",
            "post_history",
            "hashtag",
            "mentions",
            "book_feed",
            "book_posts",
            "person",
            "person_feed",
            "front",
            "book",
            "list",
            "lists",
        }
        named = {name for name, texts in found.items() if any(town.other(viewer).username in text for text in texts)}
        assert named >= spoken | {"people", "followers", "following", "leaderboard"}


def walk(town: Town, viewer: User, way: str, names: Collection[str] = ()) -> dict[str, list[str]]:
    """Return all answers of each page (or only of those with these names) with their headers, by name of the page."""
    client, found = Client(), defaultdict[str, list[str]](list)
    client.force_login(viewer)
    drain_all()
    for name, address in town.addresses(viewer):
        for headers in ACCEPT if name in names or not names else ():
            with sql_only() if way == "sql" else nullcontext():
                response = client.get(address, headers=headers)
            assert response.status_code in (200, 302, 404, 405), address
            found[name].append(f"{response.headers} {response.content.decode(errors='replace')}")
    return found


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_muted_readers_stay_in_lists_of_logins(town: Town, way: str) -> None:
    """A mute concerns posts only; a block removes one line of the list and keeps the ranks of the others."""
    people.mute(town.blocker.pk, town.carol.pk)
    drain_all()
    client = Client()
    client.force_login(town.blocker)
    with sql_only() if way == "sql" else nullcontext():
        found = client.get("/accounts/leaderboard/", headers={"Accept": "application/json"}).json()
    assert {person["name"]: person["rank"] for person in found["most"]} == {"Xanthippe": 1, "Carol": 2}
    assert [person["name"] for person in found["last"]] == ["Xanthippe", "Carol"]
    assert found["count"] == 3


@pytest.mark.parametrize("rest", ["", "followers/", "following/"])
@pytest.mark.parametrize("way", ["redis", "sql"])
def test_the_page_of_a_blocker_equals_that_of_an_unknown_name(town: Town, rest: str, way: str) -> None:
    client = Client()
    client.force_login(town.blocked)
    with sql_only() if way == "sql" else nullcontext():
        for headers in ACCEPT:
            for spelled in ("Xanthippe", "xANTHIPPE"):
                theirs = client.get(f"/u/{spelled}/{rest}", headers=headers)
                nobodys = client.get(f"/u/nobody/{rest}", headers=headers)
                assert (theirs.status_code, theirs.content) == (404, nobodys.content)
                del theirs.headers["X-Request-ID"], nobodys.headers["X-Request-ID"]
                assert theirs.headers.items() == nobodys.headers.items()


def test_a_block_hides_nothing_from_others(town: Town) -> None:
    client = Client()
    for _ in range(2):
        for name in ("Xanthippe", "Berengar"):
            assert client.get(f"/u/{name}/").status_code == 200
            assert client.get(f"/u/{name}/followers/").status_code == 200
        client.force_login(town.carol)


def test_mentions_by_blocked_readers_reach_nobody(town: Town) -> None:
    said = create_post(town.blocked.pk, "Do you hear me, @Xanthippe?")
    assert not Mention.objects.filter(post=said, user=town.blocker).exists()
    client = Client()
    client.force_login(town.blocker)
    for headers in ACCEPT[:2]:
        assert "Do you hear me" not in client.get("/mentions/", headers=headers).content.decode()
