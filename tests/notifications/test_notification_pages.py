"""The page of notifications in HTML and JSON, the number in the header, and the read state."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client
from django.utils.formats import date_format
from django.utils.timezone import localdate, localtime
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.notifications import selectors
from accounts.notifications.models import Notification
from catalog.local.index import local_copy
from common import clock
from mirror.middleware import COOKIE as BEHIND
from mirror.models import Change
from mirror.redis.recorder import record
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from social.models import Follow, Like, Post
from social.services import likes, people
from social.services.posts import create_post, hide_post
from tests.support.servers import PATIENCE_SECONDS
from tests.support.social.notifications import read_both_ways
from tests.support.social.timelines import make_users
from tests.support.warm_mirrors import rebuild

JSON = {"Accept": "application/json"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def readers(client: Client) -> list[User]:
    """Create readers; alice is logged in."""
    found = make_users("alice", "bob", "carol")
    client.force_login(found[0])
    rebuild()
    return found


@pytest.fixture
def post(readers: list[User]) -> Post:
    return create_post(readers[0].pk, "A <good> book")


def get_json(client: Client, path: str = "/notifications/") -> Any:
    return client.get(path, headers=JSON).json()


def get_bell(client: Client, path: str = "/about/") -> str:
    """Return the link to the notifications in the header of a page."""
    return client.get(path).content.decode().partition('<a class="bell-link"')[2].partition("</a>")[0]


def test_page_lists_notifications_with_links_and_quotes(client: Client, readers: list[User], post: Post) -> None:
    for reader in readers[1:]:
        likes.like_post(reader.pk, post.pk)
    drain_all()
    page = client.get("/notifications/").content.decode()
    assert '<a class="name" href="/u/carol/"><bdi>carol</bdi></a> and <bdi>bob</bdi> liked' in page
    assert "liked your post." in page
    assert "A &lt;good&gt; book" in page
    assert f'href="/notifications/{Notification.objects.get().pk}/"' in page
    assert '<span class="bell-count" aria-hidden="true">1</span>' in page


def test_json_has_kinds_people_and_the_number_of_unread_ones(client: Client, readers: list[User], post: Post) -> None:
    _, bob, carol = readers
    likes.like_post(bob.pk, post.pk)
    Follow.objects.create(follower=carol, followee=readers[0])
    drain_all()
    answer = get_json(client)
    assert answer["unread"] == 2
    assert answer["next"] is None
    assert [(one["kind"], one["people"], one["count"], one["text"], one["url"]) for one in answer["results"]] == [
        ("follow", ["carol"], 1, "carol followed you.", "/u/alice/followers/"),
        ("like", ["bob"], 1, "bob liked your post.", f"/posts/{post.pk}/"),
    ]
    assert [one["is_unread"] for one in answer["results"]] == [True, True]


def test_visitors_have_no_notifications(client: Client, readers: list[User]) -> None:
    client.logout()
    assert client.get("/notifications/").headers["Location"].startswith("/accounts/login/")
    assert client.get("/notifications/", headers=JSON).status_code == 401
    assert get_bell(client) == ""


def test_pages_go_on(client: Client, readers: list[User]) -> None:
    alice, bob, _ = readers
    posts = [create_post(alice.pk, f"Book {n}") for n in range(selectors.PAGE_SIZE * 2 + 3)]
    Like.objects.bulk_create(Like(user=bob, post=each) for each in posts)
    drain_all()
    answer, found, last = get_json(client), [], ""
    while True:
        found += [one["url"] for one in answer["results"]]
        if not answer["next"]:
            break
        last = answer["next"]
        answer = get_json(client, last)
    assert sorted(found) == sorted(f"/posts/{each.pk}/" for each in posts)
    assert len(read_both_ways(alice)[0]) == len(posts)
    newest, oldest = (client.get(path).content.decode() for path in ("/notifications/", last))
    assert ("?after=" in newest, "all caught up" in newest) == (True, False)
    assert "all caught up" in oldest
    for cursor in ("nonsense", "nan 1", "1e999 5", "-1 2"):
        assert len(get_json(client, f"/notifications/?after={cursor}")["results"]) in (0, selectors.PAGE_SIZE)


def test_opening_a_notification_marks_it_as_read(client: Client, readers: list[User], post: Post) -> None:
    alice, bob, carol = readers
    likes.like_post(bob.pk, post.pk)
    create_post(bob.pk, "Ask @alice")
    drain_all()
    one = Notification.objects.get(kind="like")
    response = client.get(f"/notifications/{one.pk}/")
    assert response.headers["Location"] == f"/posts/{post.pk}/"
    drain_all()
    assert read_both_ways(alice)[1] == 1
    client.force_login(carol)
    assert client.get(f"/notifications/{one.pk}/").status_code == 404
    assert client.get(f"/notifications/{2**63}/").status_code == 404


def test_all_are_marked_as_read_up_to_the_page(client: Client, readers: list[User], post: Post) -> None:
    alice, bob, carol = readers
    likes.like_post(bob.pk, post.pk)
    drain_all()
    seen = get_json(client)["seen"]
    create_post(carol.pk, "Ask @alice")
    drain_all()
    assert client.post("/notifications/read/", {"until": seen}, headers=JSON).json() == {"marked": 1}
    drain_all()
    assert [one.kind.name for one in read_both_ways(alice)[0] if one.is_unread] == ["mention"]
    likes.like_post(carol.pk, post.pk)
    drain_all()
    assert read_both_ways(alice)[1] == 2
    for text in ("", "nonsense", "2026-01-01", "2026-99-01T00:00:00Z", "2026-01-01T00:00:00"):
        assert client.post("/notifications/read/", {"until": text}, headers=JSON).status_code == 400
        assert client.post("/notifications/read/", {"until": text}).status_code == 302
    assert read_both_ways(alice)[1] == 2


def test_a_late_fact_is_unread(client: Client, readers: list[User], post: Post) -> None:
    alice, bob, carol = readers
    likes.like_post(bob.pk, post.pk)
    drain_all()
    likes.like_post(carol.pk, post.pk)
    # The relay has not seen the second like when the reader marks all.
    client.post("/notifications/read/", {"until": get_json(client)["seen"]})
    drain_all()
    assert read_both_ways(alice)[1] == 1


def test_a_notification_of_a_hidden_post_shows_nothing(client: Client, readers: list[User]) -> None:
    _, bob, _ = readers
    made = create_post(bob.pk, "A secret for @alice")
    drain_all()
    hide_post(made.pk)
    answer = get_json(client)
    assert answer["results"] == []
    assert "secret" not in client.get("/notifications/").content.decode()


def test_a_content_note_veils_the_quote(client: Client, readers: list[User]) -> None:
    _, bob, _ = readers
    create_post(bob.pk, "The gardener did it, @alice", note="the end of a book")
    drain_all()
    assert [one["quote"] for one in get_json(client)["results"]] == ["the end of a book"]


def test_header_shows_the_number_without_a_round_trip(client: Client, readers: list[User], post: Post) -> None:
    likes.like_post(readers[1].pk, post.pk)
    drain_all()
    assert get_bell(client).count(">1<") == 1
    assert local_copy.ensure_loaded(PATIENCE_SECONDS)  # a thread loads it, and SQL answers meanwhile
    for path in ("/about/", "/books/", "/global/", f"/posts/{post.pk}/"):
        for _ in range(3):
            client.get(path)
        with record() as seen:
            client.get(path)
        assert (seen.round_trips, seen.sql) == (1, []), path
    # An address that this process has not seen: the number comes with the session.
    other = create_post(readers[1].pk, "Another")
    drain_all()
    with record() as seen:
        client.get(f"/posts/{other.pk}/?next=1")
    assert [command.trip for command in seen.commands if "unread" in str(command)] == [1]
    assert seen.sql == []


def test_header_shows_the_same_number_without_redis(client: Client, readers: list[User], post: Post) -> None:
    likes.like_post(readers[1].pk, post.pk)
    drain_all()
    from_redis = get_bell(client)
    with sql_only():
        assert get_bell(client) == from_redis
    assert ">1<" in from_redis


def test_the_reader_who_likes_does_not_wait_for_the_notification(
    client: Client, readers: list[User], post: Post
) -> None:
    _, bob, _ = readers
    client.force_login(bob)
    response = client.post(f"/posts/{post.pk}/like/", headers=JSON)
    assert response.json()["is_changed"]
    # Other mirrors are drained after the response, and then nothing keeps Redis from answering.
    client.get("/about/")
    assert BEHIND not in client.cookies or not client.cookies[BEHIND].value
    assert Change.objects.pending().filter(mirror="notified_like").exists()
    assert not Change.objects.pending().exclude(mirror__startswith="notified_").exists()


def test_page_groups_by_day_with_the_pictures_of_readers(
    client: Client, readers: list[User], post: Post, settings: Settings
) -> None:
    _, bob, carol = readers
    likes.like_post(bob.pk, post.pk)
    Follow.objects.create(follower=carol, followee=readers[0])
    drain_all()
    page = client.get("/notifications/").content.decode()
    assert page.count('<svg class="avatar') >= 2
    now = clock.now()
    for days, title in ((0, "Today"), (1, "Yesterday"), (9, date_format(localdate(now)))):
        settings.CLOCK = lambda days=days: now + timedelta(days=days)
        page = client.get("/notifications/").content.decode()
        assert f">{title}</h2>" in page
        assert page.count('<h2 id="day-') == 1
        assert page.count('<li class="notification unread">') == 2
        # The heading has the day. The browser writes the time of day, in the zone of the device.
        assert (page.count(" ago<"), page.count('data-local="clock"')) == ((0, 2) if days else (0, 0))
        assert page.count(">just now<") == (0 if days else 2)
    User.objects.update(time_zone="Asia/Tokyo")
    drain_all()
    page = client.get("/notifications/").content.decode()
    written = {localtime(row.last_at, ZoneInfo("Asia/Tokyo")).strftime(">%H:%M<") for row in Notification.objects.all()}
    assert all(time in page for time in written)


def test_staff_read_the_list_in_their_language(client: Client) -> None:
    alice, bob = make_users("alice", "bob")
    people.follow(bob.pk, alice.pk)
    drain_all()
    client.force_login(User.objects.create_superuser("carol"))
    client.cookies["django_language"] = "zh-hans"
    page = client.get("/admin/notifications/notification/").content.decode()
    assert "有人关注你" in page
    assert "Is unread" not in page
