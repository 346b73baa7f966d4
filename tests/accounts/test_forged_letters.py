"""Programs that write to the broker cannot make the site send emails of their own: messages are signed."""

import logging
import time
from collections.abc import Sequence
from typing import Any

import pytest
from celery import current_app
from django.core import mail
from django.test import Client, override_settings

from accounts.mail import outgoing
from accounts.mail.outgoing import Letter
from accounts.models import EmailChange, User
from tests.support.accounts.mail import deliver_emails, take_hinted_tasks
from tests.support.accounts.sessions import PASSWORD
from tests.support.tasks import load_tasks

pytestmark = pytest.mark.django_db(transaction=True)
SEND, LINKS = "accounts.tasks.send_letter", "accounts.tasks.send_reset_links"
ADDRESS, VICTIM = "alice@example.org", "victim@example.org"
NOTICE = Letter("password_changed", "en", None, {})
FORMER = ("password_changed", VICTIM, "en", {"name": "alice", "site": "https://evil.example"})


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email=ADDRESS, password=PASSWORD)


@pytest.fixture(autouse=True)
def tasks() -> None:
    """Load the tasks before ``caplog`` listens."""
    load_tasks()


def perform(task: str, arguments: Sequence[Any]) -> int:
    """Run a task, and return its result: the number of sent emails."""
    sent: int = current_app.tasks[task](*arguments)
    return sent


def test_name_address_and_site_of_a_letter_are_those_of_the_time_when_it_is_sent(alice: User) -> None:
    signed = outgoing.sign_letter(alice.pk, NOTICE)
    User.objects.filter(pk=alice.pk).update(username="alicia", email="new@example.org")
    with override_settings(SITE_URL="https://books.example"):
        assert perform(SEND, (alice.pk, signed)) == 1
    (letter,) = mail.outbox
    assert letter.to == ["new@example.org"]
    assert "Hello alicia," in str(letter.body)
    assert "https://books.example/accounts/password_reset/" in str(letter.body)


def test_a_message_that_the_site_did_not_sign_is_dropped(alice: User, caplog: pytest.LogCaptureFixture) -> None:
    other = User.objects.create_user("other", email="other@example.org")
    with override_settings(SECRET_KEY="the key of another site, long enough"):
        stranger = outgoing.sign_letter(alice.pk, Letter("new_device", "en", VICTIM, {"device": "x", "address": "y"}))
    right = outgoing.sign_letter(alice.pk, NOTICE)
    messages = [
        (SEND, FORMER),  # of a release that did not sign messages
        (SEND, (alice.pk, stranger)),
        (SEND, (other.pk, right)),
        (SEND, (alice.pk, f"{right}x")),
        (SEND, (alice.pk, None)),
        (LINKS, (ADDRESS, "en")),
        (LINKS, (right,)),
    ]
    with caplog.at_level(logging.WARNING, "accounts"):
        assert [perform(*message) for message in messages] == [0] * len(messages)
    assert caplog.text.count("was dropped: this site did not sign it") == len(messages)
    assert VICTIM not in caplog.text
    assert mail.outbox == []


def test_a_letter_is_not_sent_after_three_days(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    signed = outgoing.sign_letter(alice.pk, NOTICE)
    later = time.time() + outgoing.LETTER_SECONDS
    monkeypatch.setattr("django.core.signing.time.time", lambda: later - 5)
    assert perform(SEND, (alice.pk, signed)) == 1
    monkeypatch.setattr("django.core.signing.time.time", lambda: later + 5)
    assert perform(SEND, (alice.pk, signed)) == 0


def test_letters_signed_with_the_former_key_are_sent(alice: User) -> None:
    with override_settings(SECRET_KEY="the former key of the site, long enough"):
        signed = outgoing.sign_letter(alice.pk, NOTICE)
    with override_settings(SECRET_KEY_FALLBACKS=["the former key of the site, long enough"]):
        assert perform(SEND, (alice.pk, signed)) == 1


def test_a_link_goes_only_to_the_address_that_waits_for_it(alice: User) -> None:
    client = Client()
    client.force_login(alice)
    client.post("/accounts/email/", {"email": VICTIM, "password": PASSWORD})
    messages = [(name, arguments) for name, arguments in take_hinted_tasks() if name == SEND]
    EmailChange.objects.filter(user=alice).update(email="other@example.org")
    mail.outbox.clear()
    assert sorted(perform(*message) for message in messages) == [0, 1]
    assert [letter.to for letter in mail.outbox] == [[ADDRESS]]


def test_no_letter_is_sent_to_a_user_who_is_gone(alice: User) -> None:
    pk, signed = alice.pk, outgoing.sign_letter(alice.pk, NOTICE)
    User.objects.filter(pk=pk).update(email="")
    assert perform(SEND, (pk, signed)) == 0
    alice.delete()
    assert perform(SEND, (pk, signed)) == 0


def test_messages_contain_neither_names_nor_sites(alice: User) -> None:
    """The broker has what SQL does not store: here the device and the address of a login."""
    client = Client()
    client.post("/accounts/login/", {"username": "alice", "password": PASSWORD})
    ((_, (user_id, signed)),) = take_hinted_tasks()
    letter = outgoing.read_letter(user_id, signed)
    assert letter is not None
    assert (letter.about, letter.to, sorted(letter.details)) == ("new_device", None, ["address", "device"])
    assert deliver_emails() == []
