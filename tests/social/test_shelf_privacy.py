"""Visibility of shelves for owners, followers, other readers, visitors and both sides of a block.

Each is tested in HTML and JSON, from Redis and from SQL.
"""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import date

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from accounts.models import User
from accounts.notifications.models import Notification, Way
from accounts.notifications.selectors import count_unread
from accounts.notifications.services import mark_all_read
from catalog import keys
from catalog.models import Book
from catalog.shelves import services
from catalog.shelves.models import Privacy, Shelf, ShelfEntry, ShelfSettings
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import hints
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from social.models import Follow, Like, Post
from social.relations.profiles import get_profile
from social.selectors import count_new_posts, get_posts_by
from social.services import people
from social.services.likes import NoSuchPost, like_post
from social.services.posts import create_post, hide_post, unhide_post
from tests.support.social.notifications import read_both_ways
from tests.support.warm_mirrors import rebuild, without_drains

pytestmark = pytest.mark.django_db(transaction=True)

JSON = {"Accept": "application/json"}
LEVELS = {
    Shelf.WANT: Privacy.PUBLIC,
    Shelf.READING: Privacy.FOLLOWERS,
    Shelf.READ: Privacy.ME,
    Shelf.ABANDONED: Privacy.FOLLOWERS,
}
FOLLOWERS = 1  # number of unread notifications of followers
TITLES = {shelf: f"A secret of {shelf.value}!" for shelf in Shelf}
SEEN = {
    "owner": set(Shelf),
    "follower": {Shelf.WANT, Shelf.READING, Shelf.ABANDONED},
    "stranger": {Shelf.WANT},
    "anonymous": {Shelf.WANT},
    "blocked": set(),
    "blocking": set(),
}


class Library:
    """Olga's shelves, each with one book and a different privacy."""

    def __init__(self) -> None:
        with without_drains():
            self._make_rows()
        rebuild()
        drain_all()

    def _make_rows(self) -> None:
        names = ("owner", "follower", "stranger", "blocked", "blocking")
        self.people = {name: User.objects.create(username=f"Olga {name}") for name in names}
        self.owner = self.people["owner"]
        self.books = {shelf: Book.objects.create(title=title) for shelf, title in TITLES.items()}
        for shelf, book in self.books.items():
            services.put_on_shelf(self.owner.pk, book.pk, shelf, date(2026, 3, 3))
            services.set_privacy(self.owner.pk, shelf, LEVELS[shelf])
        for name in names[1:]:
            people.follow(self.people[name].pk, self.owner.pk)
        people.unfollow(self.people["stranger"].pk, self.owner.pk)
        people.block(self.owner.pk, self.people["blocked"].pk)
        people.block(self.people["blocking"].pk, self.owner.pk)

    def client(self, name: str) -> Client:
        client = Client()
        if name in self.people:
            client.force_login(self.people[name])
            drain_all()
        return client

    def pages(self, client: Client) -> Iterator[str]:
        """Return the answers of all addresses about the owner."""
        start = "/u/Olga%20owner/shelves/"
        for address in (start, *(f"{start}?shelf={shelf.value}" for shelf in Shelf)):
            for headers in ({}, JSON):
                yield client.get(address, headers=headers).content.decode()
        for headers in ({}, JSON):
            yield client.get(f"{start}statistics/?year=2026", headers=headers).content.decode()

    def seen_by(self, client: Client) -> set[Shelf]:
        text = "\n".join(self.pages(client))
        return {shelf for shelf in Shelf if TITLES[shelf] in text}


@pytest.fixture
def library() -> Library:
    return Library()


def test_only_visitors_of_the_shelf_of_read_books_see_its_statistics(library: Library) -> None:
    services.put_on_shelf(library.owner.pk, library.books[Shelf.WANT].pk, Shelf.READ, date(2026, 3, 4))
    title, seen = TITLES[Shelf.WANT], {}
    for level in Privacy:
        services.set_privacy(library.owner.pk, Shelf.READ, level)
        Book.objects.update(pages=300)
        drain_all()
        for name in SEEN:
            client = library.client(name)
            pages = (f"/u/Olga%20owner/shelves/{page}" for page in ("statistics/?year=2026", "2026.png"))
            text, picture = (client.get(page) for page in pages)
            assert (title in text.content.decode()) == (picture.status_code == 200)
            seen[level, name] = picture.status_code == 200
    assert {level: [name for name in SEEN if seen[level, name]] for level in Privacy} == {
        Privacy.PUBLIC: ["owner", "follower", "stranger", "anonymous"],
        Privacy.FOLLOWERS: ["owner", "follower"],
        Privacy.ME: ["owner"],
    }


@pytest.mark.parametrize("answered_by", ["Redis", "SQL"])
@pytest.mark.parametrize("viewer", SEEN)
def test_visitors_see_the_shelves_that_they_may_see(library: Library, viewer: str, answered_by: str) -> None:
    client = library.client(viewer)
    with sql_only() if answered_by == "SQL" else nullcontext():
        assert library.seen_by(client) == SEEN[viewer]


def test_invisible_shelves_equal_missing_ones(library: Library) -> None:
    client = library.client("stranger")
    for shelf in (Shelf.READ, "nonsense"):
        assert client.get(f"/u/Olga%20owner/shelves/?shelf={shelf}").status_code == 404
    found = client.get("/u/Olga%20owner/shelves/", headers=JSON).json()
    assert [one["name"] for one in found["shelves"]] == ["want-to-read"]


def test_shelves_of_inactive_readers_are_404(library: Library) -> None:
    User.objects.filter(pk=library.owner.pk).update(is_active=False)
    drain_all()
    assert library.seen_by(library.client("follower")) == set()
    redis = relay_client()
    for shelf in Shelf:
        assert not redis.exists(keys.shelf_of(library.owner.pk, shelf))


def test_a_pending_change_of_privacy_is_respected(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """No relay runs and the heartbeat has expired, so Redis still has the old state."""
    client = library.client("stranger")
    monkeypatch.setattr(hints, "flush", lambda: None)
    ShelfSettings.objects.filter(pk=library.owner.pk).update(want_privacy=Privacy.ME)
    relay_client().delete(naming.heartbeat())
    assert library.seen_by(client) == set()


def test_a_pending_move_to_a_private_shelf_is_respected(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    client = library.client("stranger")
    monkeypatch.setattr(hints, "flush", lambda: None)
    services.put_on_shelf(library.owner.pk, library.books[Shelf.WANT].pk, Shelf.READ, date(2026, 3, 4))
    relay_client().delete(naming.heartbeat())
    assert library.seen_by(client) == set()


def test_followers_are_confirmed_by_sql(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    client = library.client("follower")
    monkeypatch.setattr(hints, "flush", lambda: None)
    Follow.objects.filter(followee=library.owner).delete()
    assert library.seen_by(client) == {Shelf.WANT}


def test_shelves_take_few_round_trips(library: Library) -> None:
    client = library.client("stranger")
    client.get("/u/Olga%20owner/shelves/")
    with record() as seen:
        assert client.get("/u/Olga%20owner/shelves/").status_code == 200
    assert seen.round_trips <= 7
    assert seen.sql == []


def test_a_profile_links_to_the_shelves(library: Library) -> None:
    assert 'href="/u/Olga%20owner/shelves/"' in library.client("anonymous").get("/u/Olga%20owner/").content.decode()


def test_a_rating_on_a_shelf_that_was_made_private_is_out_of_reach(library: Library) -> None:
    reader, follower, book = library.owner.pk, library.people["follower"].pk, library.books[Shelf.WANT].pk
    services.rate_book(reader, book, 8, date(2026, 3, 4))
    rating = Post.objects.get()
    drain_all()
    assert count_new_posts(follower, 0) == 1
    services.set_privacy(reader, Shelf.WANT, Privacy.ME)
    drain_all()
    assert count_new_posts(follower, 0) == 0
    with pytest.raises(NoSuchPost):
        like_post(follower, rating.pk)
    with pytest.raises(ValidationError):
        create_post(follower, "Really?", parent_id=rating.pk)
    assert not Like.objects.exists()
    services.set_privacy(reader, Shelf.WANT, Privacy.PUBLIC)
    assert like_post(follower, rating.pk)


def test_a_hidden_rating_is_on_no_profile_and_in_no_notification(library: Library) -> None:
    """The profile counts the posts that it lists, and no notification leads to a page that is not found."""
    reader, follower = library.owner, library.people["follower"]
    books = [library.books[Shelf.WANT].pk, library.books[Shelf.READING].pk]
    services.set_privacy(reader.pk, Shelf.READING, Privacy.PUBLIC)
    for book in books:
        services.rate_book(reader.pk, book, 8, date(2026, 3, 4))
    for post in Post.objects.all():
        assert like_post(follower.pk, post.pk)
    for privacy, count in ((Privacy.PUBLIC, 2), (Privacy.FOLLOWERS, 1), (Privacy.ME, 1), (Privacy.PUBLIC, 2)):
        services.set_privacy(reader.pk, Shelf.WANT, privacy)
        drain_all()
        assert verify(["rated_post", "post", "notified_like", "notification"]) == []
        for context in (nullcontext(), sql_only()):
            with context:
                assert count_unread(reader.pk) == count + FOLLOWERS
                for viewer in (None, reader.pk, follower.pk):
                    profile = get_profile(reader.pk, viewer)
                    assert profile is not None
                    assert profile.posts == count == len(get_posts_by(reader.pk, viewer).posts)
        liked = [shown for shown in read_both_ways(reader)[0] if shown.kind.name == "like"]
        assert len(liked) == count
        for shown in liked:
            assert library.client("owner").get(shown.detail.path).status_code == 200


def test_likes_of_a_shelf_that_is_public_again_stay_read(library: Library) -> None:
    reader, book = library.owner.pk, library.books[Shelf.WANT].pk
    services.rate_book(reader, book, 8, date(2026, 3, 4))
    assert like_post(library.people["follower"].pk, Post.objects.get().pk)
    drain_all()
    assert count_unread(reader) == 1 + FOLLOWERS
    mark_all_read(reader, timezone.now())
    for privacy in (Privacy.ME, Privacy.PUBLIC):
        services.set_privacy(reader, Shelf.WANT, privacy)
        drain_all()
        assert count_unread(reader) == 0
    assert Notification.objects.get(kind="like").way == Way.SITE


def test_a_rating_without_stars_is_not_counted_as_unread(library: Library) -> None:
    reader, book = library.owner.pk, library.books[Shelf.WANT].pk
    services.rate_book(reader, book, 8, date(2026, 3, 4))
    assert like_post(library.people["follower"].pk, Post.objects.get().pk)
    ShelfEntry.objects.filter(user=reader, book=book).update(stars=None)
    drain_all()
    assert count_unread(reader) == FOLLOWERS
    assert verify(["notified_like", "notification"]) == []


def test_ratings_of_a_deleted_book_are_neither_listed_nor_counted(library: Library) -> None:
    reader, book = library.owner.pk, library.books[Shelf.WANT]
    services.rate_book(reader, book.pk, 8, date(2026, 3, 4))
    create_post(reader, "Good morning", book_id=book.pk)
    assert like_post(library.people["follower"].pk, Post.objects.get(kind=Post.Kind.RATING).pk)
    drain_all()
    assert count_unread(reader) == 1 + FOLLOWERS
    book.delete()
    drain_all()
    assert verify(["rated_post", "post", "notified_like", "notification"]) == []
    for context in (nullcontext(), sql_only()):
        with context:
            profile = get_profile(reader)
            assert profile is not None
            assert profile.posts == 1 == len(get_posts_by(reader, None).posts)
            assert count_unread(reader) == FOLLOWERS


def test_a_rating_that_staff_have_hidden_as_well_is_left_out_once(library: Library) -> None:
    reader, book = library.owner.pk, library.books[Shelf.WANT].pk
    services.rate_book(reader, book, 8, date(2026, 3, 4))
    rating = Post.objects.get()
    create_post(reader, "Good morning")
    for change, count in (
        (lambda: hide_post(rating.pk), 1),
        (lambda: services.set_privacy(reader, Shelf.WANT, Privacy.ME), 1),
        (lambda: unhide_post(rating.pk), 1),
        (lambda: hide_post(rating.pk), 1),
        (lambda: services.set_privacy(reader, Shelf.WANT, Privacy.PUBLIC), 1),
        (lambda: unhide_post(rating.pk), 2),
    ):
        change()
        drain_all()
        assert verify(["rated_post", "post"]) == []
        for context in (nullcontext(), sql_only()):
            with context:
                profile = get_profile(reader)
                assert profile is not None
                assert profile.posts == count == len(get_posts_by(reader, None).posts)


def test_the_number_of_posts_follows_a_book_to_another_shelf(library: Library) -> None:
    reader, book = library.owner.pk, library.books[Shelf.WANT].pk
    services.rate_book(reader, book, 8, date(2026, 3, 4))
    for shelf, count in ((Shelf.READ, 0), (Shelf.WANT, 1)):
        services.put_on_shelf(reader, book, shelf, date(2026, 3, 4))
        drain_all()
        profile = get_profile(reader)
        assert profile is not None
        assert profile.posts == count
