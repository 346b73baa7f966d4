"""Emails with notifications: who gets them, when, what they have, and how they end."""

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from accounts.notifications import services
from accounts.notifications.emails import sending
from accounts.notifications.emails.unsubscribing import Subscription, make_link
from accounts.notifications.models import Notification, Preference, Way
from accounts.notifications.tasks import remove_old, send_emails
from common import clock
from mirror.relay.drains import drain_all
from social.models import Post
from social.services import likes, people
from social.services.posts import create_post, hide_post
from tests.support.social.notifications import KINDS, MIRRORS, read_both_ways
from tests.support.social.timelines import make_users
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)
SITE = "http://127.0.0.1:8000"


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.ahead = timedelta(0)

    def __call__(self) -> Any:
        from django.utils import timezone

        return timezone.now() + self.ahead

    def move(self, **period: float) -> None:
        """Move the clock."""
        self.ahead += timedelta(**period)


@pytest.fixture
def moved(settings: Settings) -> Clock:
    found = Clock()
    settings.CLOCK = found
    settings.SITE_URL = SITE
    return found


@pytest.fixture
def readers(moved: Clock) -> list[User]:
    found = make_users("alice", "bob", "carol")
    User.objects.filter(pk=found[0].pk).update(email="alice@example.org")
    rebuild()
    return found


@pytest.fixture
def post(readers: list[User]) -> Post:
    return create_post(readers[0].pk, "A <good> book")


def send(moved: Clock) -> list[Any]:
    """Drain, wait for grouping, send, and return the new emails."""
    drain_all()
    moved.move(minutes=2)
    mail.outbox.clear()
    send_emails()
    return list(mail.outbox)


def test_no_email_by_default(readers: list[User], post: Post, moved: Clock) -> None:
    likes.like_post(readers[1].pk, post.pk)
    assert send(moved) == []


def test_email_has_the_unread_notifications_once(readers: list[User], post: Post, moved: Clock) -> None:
    alice, bob, carol = readers
    services.set_ways(alice.pk, {"like": Way.EMAIL})
    for reader in (bob, carol):
        likes.like_post(reader.pk, post.pk)
    create_post(bob.pk, "Ask @alice")
    (email,) = send(moved)
    assert email.to == ["alice@example.org"]
    assert email.subject == "carol and bob liked your post."
    assert "carol and bob liked your post." in email.body
    assert "A <good> book" in email.body
    assert "mentioned" not in email.body
    assert f"{SITE}/posts/{post.pk}/" in email.body
    html = email.alternatives[0][0]
    assert "A &lt;good&gt; book" in html
    moved.move(hours=1)
    assert send(moved) == []


def test_emails_are_bounded_and_have_what_came_meanwhile(readers: list[User], moved: Clock) -> None:
    alice, bob, carol = readers
    services.set_ways(alice.pk, {"mention": Way.EMAIL})
    create_post(bob.pk, "Ask @alice")
    assert len(send(moved)) == 1
    for n in range(30):
        create_post(carol.pk, f"Ask @alice {n}")
    assert send(moved) == []
    moved.move(minutes=20)
    (email,) = send(moved)
    assert email.subject == "30 new notifications on Diptych"
    assert "And 10 more notifications." in email.body
    moved.move(minutes=20)
    assert send(moved) == []


def test_weekly_email_comes_after_a_week(readers: list[User], post: Post, moved: Clock) -> None:
    services.set_ways(readers[0].pk, {"like": Way.WEEKLY})
    likes.like_post(readers[1].pk, post.pk)
    assert send(moved) == []
    moved.move(days=7)
    (email,) = send(moved)
    assert email.subject == "Your week on Diptych"
    likes.like_post(readers[2].pk, post.pk)
    assert send(moved) == []
    moved.move(days=7)
    assert len(send(moved)) == 1


def test_read_notifications_are_not_sent(readers: list[User], post: Post, moved: Clock) -> None:
    alice, bob, _ = readers
    services.set_ways(alice.pk, {"like": Way.EMAIL})
    likes.like_post(bob.pk, post.pk)
    drain_all()
    services.mark_all_read(alice.pk, clock.now())
    assert send(moved) == []


def test_earlier_notifications_are_not_sent(readers: list[User], post: Post, moved: Clock) -> None:
    likes.like_post(readers[1].pk, post.pk)
    drain_all()
    services.set_ways(readers[0].pk, {"like": Way.EMAIL})
    assert send(moved) == []
    assert read_both_ways(readers[0])[1] == 1


@pytest.mark.parametrize("why", ["no address", "inactive", "off", "blocked", "hidden"])
def test_some_emails_are_never_sent(readers: list[User], moved: Clock, why: str) -> None:
    alice, bob, _ = readers
    services.set_ways(alice.pk, {"mention": Way.EMAIL})
    made = create_post(bob.pk, "Ask @alice")
    drain_all()
    if why == "no address":
        User.objects.filter(pk=alice.pk).update(email="")
    elif why == "inactive":
        User.objects.filter(pk=alice.pk).update(is_active=False)
    elif why == "off":
        services.set_ways(alice.pk, {"mention": Way.OFF})
    elif why == "blocked":
        people.block(alice.pk, bob.pk)
    else:
        hide_post(made.pk)
    assert send(moved) == []


def test_a_refused_email_is_sent_later(
    readers: list[User], post: Post, moved: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.set_ways(readers[0].pk, {"like": Way.EMAIL})
    likes.like_post(readers[1].pk, post.pk)
    with monkeypatch.context() as patch:

        def refuse(self: Any) -> int:
            raise OSError("the mail server is away")

        patch.setattr("django.core.mail.EmailMultiAlternatives.send", refuse)
        assert send(moved) == []
    # The claim is a pause before the next attempt.
    assert send(moved) == []
    moved.move(minutes=10)
    assert len(send(moved)) == 1


def test_a_crash_after_sending_causes_one_more_email(
    readers: list[User], post: Post, moved: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    services.set_ways(readers[0].pk, {"like": Way.EMAIL})
    likes.like_post(readers[1].pk, post.pk)
    drain_all()
    moved.move(minutes=2)
    with monkeypatch.context() as patch:

        def crash(*args: Any, **kwargs: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(sending, "_record_sent", crash)
        with pytest.raises(KeyboardInterrupt):
            send_emails()
    assert len(mail.outbox) == 1
    assert send(moved) == []
    moved.move(minutes=10)
    assert len(send(moved)) == 1
    moved.move(hours=1)
    assert send(moved) == []


def test_two_workers_send_one_email(readers: list[User], post: Post, moved: Clock) -> None:
    alice, bob, _ = readers
    services.set_ways(alice.pk, {"like": Way.EMAIL})
    likes.like_post(bob.pk, post.pk)
    drain_all()
    assert sending._claim(alice.pk, Way.EMAIL)
    assert not sending._claim(alice.pk, Way.EMAIL)
    assert not sending.send_to_reader(alice.pk, Way.EMAIL)


def test_a_fact_during_the_sending_is_sent_later(
    readers: list[User], post: Post, moved: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, bob, carol = readers
    services.set_ways(alice.pk, {"like": Way.EMAIL})
    likes.like_post(bob.pk, post.pk)
    record_sent = sending._record_sent

    def like_before(*args: Any, **kwargs: Any) -> None:
        if carol is not None and likes.like_post(carol.pk, post.pk):
            drain_all()
        record_sent(*args, **kwargs)

    monkeypatch.setattr(sending, "_record_sent", like_before)
    (first,) = send(moved)
    assert "carol" not in first.body
    moved.move(minutes=20)
    (second,) = send(moved)
    assert "carol and bob liked your post." in second.body


def test_emails_are_in_the_language_that_the_reader_chose_last(
    client: Client, readers: list[User], post: Post, moved: Clock
) -> None:
    alice, bob, _ = readers
    client.force_login(alice)
    ways = {**dict.fromkeys(services.get_ways(alice.pk), "site"), "like": "email"}
    assert client.post("/notifications/settings/", ways).status_code == 302
    for language in ("zh-hans", "xx"):
        client.post("/look/language/", {"language": language})
    Client().post("/look/language/", {"language": "en"})
    alice.refresh_from_db()
    assert alice.language == "zh-hans"
    likes.like_post(bob.pk, post.pk)
    (email,) = send(moved)
    assert "bob" in email.body
    assert "liked your post" not in email.body


def test_settings_page_shows_and_changes_each_kind(client: Client, readers: list[User]) -> None:
    alice, *_ = readers
    client.force_login(alice)
    page = client.get("/notifications/settings/").content.decode()
    assert all(f'name="{kind}"' in page for kind in KINDS)
    ways = {**dict.fromkeys(services.get_ways(alice.pk), "site"), "reply": "off"}
    client.post("/notifications/settings/", ways)
    assert services.get_ways(alice.pk)["reply"] == Way.OFF
    page = client.post("/notifications/settings/", {**ways, "reply": "pigeon"}).content.decode()
    assert "pigeon" in page
    assert Preference.objects.get(kind="reply").way == Way.OFF


def test_one_click_ends_the_emails(readers: list[User], post: Post, moved: Clock) -> None:
    alice, bob, _ = readers
    services.set_ways(alice.pk, {"like": Way.EMAIL, "mention": Way.EMAIL, "follow": Way.WEEKLY})
    likes.like_post(bob.pk, post.pk)
    (email,) = send(moved)
    headers = email.message()
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = headers["List-Unsubscribe"].removeprefix(f"<{SITE}").removesuffix(">")
    client = Client(enforce_csrf_checks=True)  # a mail program has neither cookies nor a token
    assert '<button class="button">Stop</button>' in client.get(path).content.decode()
    assert services.get_ways(alice.pk)["like"] == Way.EMAIL
    assert client.post(path, {"List-Unsubscribe": "One-Click"}).status_code == 200
    ways = services.get_ways(alice.pk)
    assert (ways["like"], ways["mention"], ways["follow"]) == (Way.SITE, Way.SITE, Way.WEEKLY)
    create_post(bob.pk, "Ask @alice")
    moved.move(hours=1)
    assert send(moved) == []


def test_other_links_end_nothing(client: Client, readers: list[User]) -> None:
    services.set_ways(readers[0].pk, {"like": Way.EMAIL})
    path = make_link(Subscription(readers[0].pk, Way.EMAIL)).removeprefix(SITE)
    for forged in ("/notifications/unsubscribe/nonsense/", path.replace("unsubscribe/", "unsubscribe/x")):
        assert client.post(forged).status_code == 404
    assert services.get_ways(readers[0].pk)["like"] == Way.EMAIL
    User.objects.filter(pk=readers[0].pk).delete()
    assert client.post(path).status_code == 200


def test_old_notifications_are_removed(readers: list[User], post: Post, moved: Clock, settings: Settings) -> None:
    from mirror.verify.runs import verify

    alice, bob, _carol = readers
    likes.like_post(bob.pk, post.pk)
    drain_all()
    moved.move(days=settings.NOTIFICATION_DAYS - 1)
    assert remove_old() == 0
    moved.move(days=2)
    assert verify(MIRRORS[:-1]) == []
    assert remove_old() == 1
    drain_all()
    assert verify(MIRRORS) == []
    assert read_both_ways(alice) == ([], 0)
    assert not Notification.objects.exists()
