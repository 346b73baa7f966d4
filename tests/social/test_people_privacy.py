"""Whom somebody blocked sees nothing of them, and they nothing of whom they blocked: on any page, in HTML and JSON."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, reverse

from accounts.models import User
from accounts.services import record_login
from catalog.models import Book
from mirror.relay import drain_all
from mirror.sql_only import sql_only
from social.models import Follow, Mention, Post
from social.services import people
from social.services.posts import post
from social.urls import urlpatterns
from tests.support.whole import rebuild

ACCEPT: tuple[dict[str, str], ...] = ({}, {"Accept": "application/json"}, {"HX-Request": "true"})
TAG = "swords"
# Changes something, or answers strangers to both alike.
CHANGING = {"block", "delete_post"}

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.on_sqlite]


def words(user: User) -> str:
    """What only this user's post says."""
    return f"Spoken by number {user.pk}!"


class Town:
    """Xanthippe blocked Berengar. Both follow Carol, and she them; both have posted about one book, with one hashtag,
    to one another and to her. All have logged in. By another way than the site's they follow one another still.
    """

    def __init__(self) -> None:
        self.blocker, self.blocked, self.carol = (
            User.objects.create(username=name) for name in ("Xanthippe", "Berengar", "Carol")
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
            self.posts[one.pk] = post(one.pk, f"{words(one)} #{TAG}{to}", book_id=self.book.pk)
        people.block(self.blocker.pk, self.blocked.pk)
        pairs = ((self.blocker, self.blocked), (self.blocked, self.blocker))
        Follow.objects.bulk_create(Follow(follower=one, followee=other) for one, other in pairs)
        rebuild()
        drain_all()

    def other(self, viewer: User) -> User:
        return self.blocked if viewer == self.blocker else self.blocker

    def addresses(self, viewer: User) -> Iterator[tuple[str, str]]:
        """Every page of social, where it names somebody or something: of each; and pages that show parts of them."""
        for pattern in urlpatterns:
            if isinstance(pattern, URLPattern) and pattern.name not in CHANGING:
                for given in self._arguments(pattern, viewer):
                    yield str(pattern.name), reverse(f"social:{pattern.name}", kwargs=given)
        yield "front", "/"
        yield "book", f"/books/{self.book.pk}/"
        yield "leaderboard", "/accounts/leaderboard/"

    def _arguments(self, pattern: URLPattern, viewer: User) -> list[dict[str, Any]]:
        names = set(pattern.pattern.regex.groupindex)
        of_books = pattern.name == "book_posts"
        found: dict[str, list[Any]] = {
            "name": [self.other(viewer).username, "Carol", viewer.username],
            "hashtag": [TAG],
            "pk": [self.book.pk] if of_books else [self.posts[self.other(viewer).pk].pk, self.posts[self.carol.pk].pk],
        }
        assert names <= found.keys(), f"{pattern} takes what this test does not know"
        return [{name: value} for name in names for value in found[name]] or [{}]


@pytest.fixture
def town() -> Town:
    return Town()


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_whom_somebody_blocked_sees_nothing_of_them_anywhere(town: Town, way: str) -> None:
    for name, texts in walk(town, town.blocked, way).items():
        for text in texts:
            assert words(town.blocker) not in text, name
            assert town.blocker.username not in text, name


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_who_blocked_somebody_sees_them_among_those_alone_whom_they_blocked(town: Town, way: str) -> None:
    for name, texts in walk(town, town.blocker, way).items():
        for text in texts:
            assert words(town.blocked) not in text, name
            if name not in {"people", "blocked", "person", "followers", "following", "shelves"}:
                assert town.blocked.username not in text, name


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_without_the_block_these_pages_show_them(town: Town, way: str) -> None:
    people.unblock(town.blocker.pk, town.blocked.pk)
    for viewer in (town.blocked, town.blocker):
        found = walk(town, viewer, way)
        spoken = {name for name, texts in found.items() if any(words(town.other(viewer)) in text for text in texts)}
        assert spoken == {"home", "global", "post", "hashtag", "mentions", "book_posts", "person", "front", "book"}
        named = {name for name, texts in found.items() if any(town.other(viewer).username in text for text in texts)}
        assert named >= spoken | {"people", "followers", "following", "leaderboard"}


def walk(town: Town, viewer: User, way: str) -> dict[str, list[str]]:
    """All that every page answers, with its headers, by the page's name."""
    client, found = Client(), defaultdict[str, list[str]](list)
    client.force_login(viewer)
    drain_all()
    for name, address in town.addresses(viewer):
        for headers in ACCEPT:
            with sql_only() if way == "sql" else nullcontext():
                response = client.get(address, headers=headers)
            assert response.status_code in (200, 302, 404, 405), address
            found[name].append(f"{response.headers} {response.content.decode()}")
    return found


@pytest.mark.parametrize("way", ["redis", "sql"])
def test_whom_one_has_only_muted_is_named_where_logins_are(town: Town, way: str) -> None:
    """A mute is about posts; a block takes one place from the list and leaves the others their ranks."""
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
def test_the_page_of_who_blocked_one_is_nobodys(town: Town, rest: str, way: str) -> None:
    client = Client()
    client.force_login(town.blocked)
    with sql_only() if way == "sql" else nullcontext():
        for headers in ACCEPT:
            for spelled in ("Xanthippe", "xANTHIPPE"):
                theirs = client.get(f"/u/{spelled}/{rest}", headers=headers)
                nobodys = client.get(f"/u/nobody/{rest}", headers=headers)
                assert (theirs.status_code, theirs.content) == (404, nobodys.content)
                assert theirs.headers.items() == nobodys.headers.items()


def test_what_strangers_and_others_see_is_not_less(town: Town) -> None:
    client = Client()
    for _ in range(2):
        for name in ("Xanthippe", "Berengar"):
            assert client.get(f"/u/{name}/").status_code == 200
            assert client.get(f"/u/{name}/followers/").status_code == 200
        client.force_login(town.carol)


def test_who_is_blocked_can_speak_to_somebody_and_is_not_heard(town: Town) -> None:
    said = post(town.blocked.pk, "Do you hear me, @Xanthippe?")
    assert not Mention.objects.filter(post=said, user=town.blocker).exists()
    client = Client()
    client.force_login(town.blocker)
    for headers in ACCEPT[:2]:
        assert "Do you hear me" not in client.get("/mentions/", headers=headers).content.decode()
