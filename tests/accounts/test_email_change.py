"""A change of the e-mail address requires the link that is sent there and the session of the requesting user."""

import re
from typing import Any

import pytest
from django.core import signing
from django.test import Client
from pytest_django.fixtures import Settings
from redis import Redis

from accounts.audit.models import AuditEvent
from accounts.mail import addresses
from accounts.models import EmailChange, User
from accounts.sessions.services import end_all_sessions
from tests.support.accounts.mail import deliver_emails, find_link, take_hinted_tasks
from tests.support.servers import RedisServer

PATH = "/accounts/email/"
PASSWORD, OLD, NEW = "a quiet bookshop", "alice@example.org", "alice@example.net"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice", email=OLD, password=PASSWORD)


@pytest.fixture
def here(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def ask(client: Client, email: str = NEW, password: str = PASSWORD) -> Any:
    return client.post(PATH, {"email": email, "password": password})


def link(client: Client, email: str = NEW) -> str:
    """Request a new address and return the link from the email."""
    assert ask(client, email).status_code == 302
    (letter,) = [letter for letter in deliver_emails() if letter.subject == "Verify your email address"]
    assert letter.to == [email]
    return find_link(letter)


def address_of(user: User) -> str:
    return User.objects.get(pk=user.pk).email


def test_the_link_changes_the_address_and_both_addresses_get_emails(here: Client, alice: User) -> None:
    assert ask(here).headers["Location"] == "/accounts/"
    page = here.get("/accounts/").content.decode()
    assert f"We sent a link to {NEW}." in page
    assert f"{NEW} is not verified yet" in page
    confirm, notice = deliver_emails()
    assert (confirm.to, confirm.subject) == ([NEW], "Verify your email address")
    assert (notice.to, notice.subject) == ([OLD], "Request to change your email address")
    assert NEW in str(notice.body)
    assert address_of(alice) == OLD
    page = here.get(find_link(confirm)).content.decode()
    assert NEW in page
    assert here.post(find_link(confirm)).headers["Location"] == "/accounts/"
    assert address_of(alice) == NEW
    assert "Your email address was changed." in here.get("/accounts/").content.decode()
    (left,) = deliver_emails()
    assert (left.to, left.subject) == ([OLD], "Your Diptych email address was changed")
    assert AuditEvent.objects.get(kind="email").actor == alice


def test_a_first_address_sends_no_notification(here: Client, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="")
    here.post(link(here))
    assert address_of(alice) == NEW
    assert take_hinted_tasks() == []


def test_following_the_link_changes_nothing(here: Client, alice: User) -> None:
    path = link(here)
    for client in (here, Client()):  # mail scanners follow links
        client.get(path)
        client.head(path)
    assert address_of(alice) == OLD
    assert EmailChange.objects.exists()


def is_refused(client: Client, path: str) -> bool:
    return all(
        "This link is no longer valid" in answer.content.decode() for answer in (client.get(path), client.post(path))
    )


def test_a_link_is_valid_once_even_after_the_old_address_returns(here: Client, alice: User) -> None:
    path = link(here)
    here.post(path)
    assert is_refused(here, path)
    here.post(link(here, OLD))
    assert address_of(alice) == OLD
    assert is_refused(here, path)
    assert address_of(alice) == OLD


def test_a_newer_request_replaces_an_older_one(here: Client, alice: User) -> None:
    older, newer = link(here, "one@example.net"), link(here, "two@example.net")
    assert is_refused(here, older)
    here.post(newer)
    assert address_of(alice) == "two@example.net"


@pytest.mark.parametrize("what", ["password", "secret"])
def test_ending_all_sessions_invalidates_the_link(here: Client, alice: User, what: str) -> None:
    path = link(here)
    if what == "password":
        alice.set_password("another one altogether")
        alice.save()
    else:
        end_all_sessions(alice)
    again = Client()
    again.force_login(User.objects.get(pk=alice.pk))
    assert is_refused(again, path)


def test_a_link_expires_after_three_hours(here: Client, alice: User, settings: Settings) -> None:
    assert settings.PASSWORD_RESET_TIMEOUT == 3 * 3600
    path = link(here)
    settings.PASSWORD_RESET_TIMEOUT = -1  # every link is older
    assert is_refused(here, path)
    assert address_of(alice) == OLD


def test_a_tampered_link_is_refused(here: Client, alice: User) -> None:
    path = link(here)
    token = path.split("/")[-2]
    data, *rest = token.split(":")
    for made_up in ("x", token[:-1], token + "x", ":".join([data[:-1], *rest]), "a:b:c", "é"):
        assert is_refused(here, f"{PATH}{made_up}/")
    assert here.get(path).status_code == 200
    assert "Verify your email address" in here.get(path).content.decode()


def test_a_signature_for_another_purpose_is_refused(here: Client, alice: User) -> None:
    link(here)
    said = addresses._make_payload(EmailChange.objects.select_related("user").get())
    assert is_refused(here, f"{PATH}{signing.dumps(said, salt='elsewhere')}/")


def test_other_users_cannot_use_the_link(here: Client, alice: User) -> None:
    path = link(here)
    eve = Client()
    assert eve.post(path).headers["Location"].startswith("/accounts/login/?next=")
    eve.force_login(User.objects.create_user("eve"))
    assert is_refused(eve, path)
    assert "alice" not in eve.get(path).content.decode()
    assert address_of(alice) == OLD


def test_a_known_address_gets_the_same_response_as_a_free_one(here: Client, alice: User) -> None:
    User.objects.create_user("bob", email="bob@example.org", password=PASSWORD)
    answers = []
    for email in ("bob@example.org", "nobody@example.org"):
        response = ask(here, email)
        letters = [letter for letter in deliver_emails() if letter.to == [email]]
        page = re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", here.get("/accounts/").content.decode())
        answers.append((response.status_code, page.replace(email, "-"), [letter.subject for letter in letters]))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("email", "password", "field"),
    [
        (NEW, "wrong", "password"),
        (NEW, "", "password"),
        ("", PASSWORD, "email"),
        ("nonsense", PASSWORD, "email"),
        (OLD.upper(), PASSWORD, "email"),
        ("a@example.org\nBcc: eve@example.org", PASSWORD, "email"),
        ("a@example.org\r\n\r\nhello", PASSWORD, "email"),
        ("a" * 250 + "@example.org", PASSWORD, "email"),
    ],
)
def test_invalid_input_is_a_field_error_and_sends_no_email(here: Client, email: str, password: str, field: str) -> None:
    assert f'id="id_{field}-errors"' in ask(here, email, password).content.decode()
    assert take_hinted_tasks() == []
    assert not EmailChange.objects.exists()


def test_password_attempts_are_limited(here: Client) -> None:
    for n in range(10):
        assert ask(here, f"{n}@example.org", "wrong").status_code == 200
    response = ask(here, "10@example.org")
    assert response.status_code == 429
    assert take_hinted_tasks() == []


def test_emails_to_one_address_are_limited_even_after_a_loss_of_redis(alice: User, redis: Redis) -> None:
    clients = []
    for n in range(6):
        client = Client()
        client.force_login(User.objects.create_user(f"reader {n}", password=PASSWORD))
        clients.append(client)
    assert [ask(client, "Victim@example.org").status_code for client in clients[:5]] == [302] * 5
    redis.flushall()
    assert ask(clients[5], "Victim@example.org").status_code == 429


def test_a_forged_host_is_refused(here: Client, settings: Settings) -> None:
    asked = {"email": NEW, "password": PASSWORD}
    assert here.post(PATH, asked, headers={"host": "evil.example"}).status_code == 400
    assert take_hinted_tasks() == []


def test_anonymous_visitors_are_redirected_to_login() -> None:
    assert Client().get(PATH).headers["Location"] == f"/accounts/login/?next={PATH}"


def test_a_form_without_csrf_token_is_refused(here: Client, alice: User) -> None:
    path, strict = link(here), Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(pk=alice.pk))
    assert strict.post(path).status_code == 403
    assert address_of(alice) == OLD


def test_the_change_works_without_redis(here: Client, alice: User, redis_server: RedisServer) -> None:
    redis_server.kill()
    assert ask(here).status_code == 302
    token = addresses._make_token(EmailChange.objects.select_related("user").get())
    assert here.post(f"{PATH}{token}/").status_code == 302
    assert address_of(alice) == NEW
