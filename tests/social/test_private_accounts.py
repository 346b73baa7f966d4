"""Only approved followers see what a private account writes, on every page, in HTML, JSON and feeds."""

import time
from collections.abc import Collection
from contextlib import nullcontext
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from accounts.notifications.models import Notification
from catalog.lists.models import ReadingList
from catalog.lists.services import ListDraft, change_list, create_list
from catalog.models import Book
from catalog.shelves.models import Privacy, Shelf, ShelfSettings
from catalog.shelves.selectors import count_readers
from catalog.shelves.services import put_on_shelf, rate_book, set_privacy
from common import clock
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from shop.pagecache.middleware import RECHECK_SECONDS
from social.models import Follow, FollowRequest, Like
from social.reviews.services import Draft, write_review
from social.services import people
from social.services.posts import create_post, edit_post
from tests.social.test_people_privacy import ACCEPT, TAG, Town, walk, words
from tests.support.warm_mirrors import rebuild

JSON = {"Accept": "application/json"}

pytestmark = pytest.mark.django_db(transaction=True)


class PrivateTown(Town):
    """Xanthippe ("blocker") has a private account, which Carol follows and Berengar ("blocked") does not.

    Berengar has asked to follow. Both mention each other. Xanthippe replied to Carol and liked Berengar's post.
    """

    def __init__(self) -> None:
        super().__init__()
        self.owner, self.stranger = self.blocker, self.blocked
        people.unblock(self.owner.pk, self.stranger.pk)
        Follow.objects.filter(follower=self.stranger, followee=self.owner).delete()
        create_post(self.owner.pk, f"{words(self.owner)} to @Carol", parent_id=self.posts[self.carol.pk].pk)
        Like.objects.create(user=self.owner, post=self.posts[self.stranger.pk])
        put_on_shelf(self.owner.pk, self.book.pk, Shelf.READ, clock.now().date())
        rate_book(self.owner.pk, self.book.pk, 7, clock.now().date())
        edit_post(self.posts[self.owner.pk].pk, f"{words(self.owner)} again #{TAG} for @Berengar", by=self.owner.pk)
        people.set_private(self.owner.pk, is_private=True)
        people.follow(self.stranger.pk, self.owner.pk)
        drain_all()


@pytest.fixture
def town() -> PrivateTown:
    return PrivateTown()


def find_spoken(town: PrivateTown, viewer: User | None, way: str, names: Collection[str] = ()) -> set[str]:
    """Return the names of the pages (or of those among ``names``) that show a word of the private account."""
    found = walk(town, viewer, way, names) if viewer else walk_as_visitor(town, way, names)
    return {name for name, texts in found.items() if any(words(town.owner) in text for text in texts)}


def walk_as_visitor(town: PrivateTown, way: str, names: Collection[str]) -> dict[str, list[str]]:
    drain_all()
    time.sleep(RECHECK_SECONDS + 0.1)  # for which a process serves a public page that was current
    found: dict[str, list[str]] = {}
    for name, address in town.addresses(town.stranger):
        for headers in ACCEPT if name in names or not names else ():
            with sql_only() if way == "sql" else nullcontext():
                response = Client().get(address, headers=headers)
            found.setdefault(name, []).append(response.content.decode(errors="replace"))
    return found


@pytest.mark.slow(30)
@pytest.mark.parametrize("way", ["redis", "sql"])
def test_a_private_account_speaks_only_to_its_followers(town: PrivateTown, way: str) -> None:
    assert find_spoken(town, town.stranger, way) == set()
    assert find_spoken(town, None, way) == set()
    # Lists that everybody sees leave its posts out, also for followers.
    followers_see = {"front", "home", "mentions", "list", "lists", "person", "person_feed", "post", "post_history"}
    assert find_spoken(town, town.carol, way) - {"mentions"} == followers_see - {"mentions"}
    own = {"home", "person", "post"}
    assert find_spoken(town, town.owner, way, own) == own

    # Within a second after the change, everybody sees them again, and then again nobody.
    people.set_private(town.owner.pk, is_private=False)
    public = find_spoken(town, None, way)
    assert public >= {"global", "hashtag", "book_posts", "book_feed", "person", "post", "front"}
    of_readers = {"mentions", "post_history"}
    assert find_spoken(town, town.stranger, way, of_readers) == of_readers
    people.set_private(town.owner.pk, is_private=True)
    assert find_spoken(town, None, way, public) == set()
    assert verify() == []


def test_a_private_account_shows_no_shelf_or_list_to_everyone(town: PrivateTown) -> None:
    set_privacy(town.owner.pk, Shelf.READ, Privacy.PUBLIC)
    made = create_list(town.owner.pk, ListDraft("for everyone"))
    change_list(town.owner.pk, made.pk, ListDraft("for all"))
    assert set(ReadingList.objects.filter(user=town.owner).values_list("privacy", flat=True)) == {Privacy.FOLLOWERS}
    assert ShelfSettings.objects.get(user=town.owner).read_privacy == Privacy.FOLLOWERS
    set_privacy(town.owner.pk, Shelf.READ, Privacy.ME)
    assert ShelfSettings.objects.get(user=town.owner).read_privacy == Privacy.ME


def test_counts_lists_and_actions_respect_the_privacy(town: PrivateTown) -> None:
    stranger, carol, visitor = Client(), Client(), Client()
    stranger.force_login(town.stranger)
    carol.force_login(town.carol)
    page = stranger.get("/u/Xanthippe/", headers=JSON).json()
    assert page == {
        "user": {
            "id": town.owner.pk, "name": "Xanthippe", "is_private": True, "is_requested": True, "follows_me": True,
            "is_muted": False, "is_blocked": False,
        },
        "results": [],
        "next": None,
    }  # fmt: skip
    for rest in ("followers/", "following/", "shelves/", "feed/", "shelves/read/feed/"):
        for client in (stranger, visitor):
            shown = client.get(f"/u/Xanthippe/{rest}").content.decode()
            assert "Carol" not in shown, rest
            assert "A book" not in shown.replace("A bookshop", ""), rest
    assert "Carol" in carol.get("/u/Xanthippe/followers/").content.decode()
    assert ">A book<" in carol.get("/u/Xanthippe/shelves/?shelf=read").content.decode(), (
        "public shelves became those of followers"
    )
    readers = count_readers(town.book.pk)
    assert (sum(readers.counts.values()), readers.ratings) == (0, 0)

    post = town.posts[town.owner.pk].pk
    for client, status in ((stranger, 404), (carol, 302)):
        assert client.post(f"/posts/{post}/like/").status_code == status
        assert client.get(f"/report/post/{post}/").status_code == (404 if status == 404 else 200)
    assert stranger.post("/posts/", {"text": "me too", "parent": post}, headers=JSON).status_code == 400
    assert (
        stranger.post("/posts/", {"text": "me too", "parent": town.posts[town.carol.pk].pk}, headers=JSON).status_code
        == 201
    )
    thread = stranger.get(f"/posts/{town.posts[town.carol.pk].pk}/").content.decode()
    assert "me too" in thread
    assert words(town.owner) not in thread

    kinds = Notification.objects.filter(user=town.stranger).values_list("kind", "actors")
    assert not [kind for kind, actors in kinds if str(town.owner.pk) in actors.split() and kind != "follow"]
    notified = carol.get("/notifications/", headers=JSON).json()["results"]
    assert "reply" in {each["kind"] for each in notified}


def test_requests_are_accepted_declined_cancelled_and_removed(town: PrivateTown) -> None:
    owner, stranger = Client(), Client()
    owner.force_login(town.owner)
    stranger.force_login(town.stranger)

    def is_open() -> bool:
        drain_all()
        return words(town.owner) in stranger.get("/u/Xanthippe/").content.decode()

    def post(client: Client, name: str, verb: str) -> Any:
        return client.post(f"/u/{name}/{verb}/", headers=JSON).json()

    assert not is_open()
    assert "Cancel request" in stranger.get("/u/Xanthippe/").content.decode()
    assert [line["name"] for line in owner.get("/people/requests/", headers=JSON).json()["results"]] == ["Berengar"]
    requests = [
        each for each in owner.get("/notifications/", headers=JSON).json()["results"] if each["kind"] == "request"
    ]
    assert len(requests) == 1
    assert post(owner, "Berengar", "accept") == {
        "user": {"id": town.stranger.pk, "name": "Berengar", "follows_me": True},
        "is_changed": True,
    }
    assert not post(owner, "Berengar", "accept")["is_changed"], "the second of two clicks"
    assert is_open()
    assert not FollowRequest.objects.exists()
    assert not Notification.objects.filter(kind="request").exists()
    assert post(owner, "Berengar", "remove")["is_changed"]
    assert not is_open()
    withdrawn = owner.post("/u/Berengar/accept/", headers=JSON)
    assert (withdrawn.status_code, "does not exist any more" in withdrawn.content.decode()) == (409, True)
    asked = post(stranger, "Xanthippe", "follow")
    assert asked["user"] == {"id": town.owner.pk, "name": "Xanthippe", "is_following": False, "is_requested": True}
    assert post(owner, "Berengar", "decline")["is_changed"]
    post(stranger, "Xanthippe", "follow")
    assert post(stranger, "Xanthippe", "unfollow")["is_changed"]
    assert not FollowRequest.objects.exists()
    post(stranger, "Xanthippe", "follow")
    people.block(town.owner.pk, town.stranger.pk)
    assert not FollowRequest.objects.exists()
    people.unblock(town.owner.pk, town.stranger.pk)
    post(stranger, "Xanthippe", "follow")
    owner.post("/people/requests/", {"private": "0"})
    assert is_open()
    assert post(stranger, "Xanthippe", "follow")["user"]["is_following"]
    assert not FollowRequest.objects.exists(), "the follow replaces the request"


def test_reviews_by_a_private_account_are_for_followers(town: PrivateTown) -> None:
    people.unfollow(town.stranger.pk, town.owner.pk)
    book = Book.objects.create(title="Another book", popularity=1, rating="4.0")
    write_review(town.owner.pk, book.pk, Draft("Xanthippe has read it.", 7), clock.now().date())
    rebuild()
    drain_all()
    for viewer, order, is_shown in (
        (None, "", False),
        (town.stranger, "?order=followed", False),
        (town.carol, "", False),
        (town.carol, "?order=followed", True),
    ):
        client = Client()
        if viewer:
            client.force_login(viewer)
        for way in (nullcontext, sql_only):
            with way():
                page = client.get(f"/books/{book.pk}/reviews/{order}").content.decode()
            assert ("has read it" in page) == is_shown, (viewer, order)
