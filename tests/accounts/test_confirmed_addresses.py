"""An unverified address gets no email except the link that verifies it."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.deletion import services as deletion
from accounts.lockout.models import FailedLogins
from accounts.models import EmailChange, User
from accounts.passwords import services as passwords
from tests.support.accounts.mail import deliver_emails, find_link, take_hinted_tasks

REGISTER, RESET, AGAIN = "/accounts/register/", "/accounts/password_reset/", "/accounts/email/again/"
PASSWORD, ADDRESS = "a quiet bookshop", "alice@example.org"

pytestmark = pytest.mark.django_db(transaction=True)


def register(name: str = "alice", email: str = ADDRESS) -> tuple[Client, Any]:
    """Register a user. Return the logged-in browser and the response."""
    client = Client()
    given = {"username": name, "email": email, "password1": PASSWORD, "password2": PASSWORD}
    return client, client.post(REGISTER, given)


def test_the_link_verifies_the_address_of_a_new_account() -> None:
    client, _ = register()
    (letter,) = deliver_emails()
    assert (letter.to, letter.subject) == ([ADDRESS], "Verify your email address")
    assert User.objects.get().email == ""
    page = client.get("/accounts/").content.decode()
    assert f"{ADDRESS} is not verified yet" in page
    client.post(find_link(letter))
    assert User.objects.get().email == ADDRESS
    page = client.get("/accounts/").content.decode()
    assert "is not verified yet" not in page
    assert "verified</span>" in page


def test_neither_response_nor_email_reveals_a_known_address() -> None:
    User.objects.create_user("bob", email="bob@example.org", password=PASSWORD)
    seen = []
    for name, email in (("carol", "bob@example.org"), ("clara", "new@example.org")):
        client, answer = register(name, email)
        (letter,) = deliver_emails()
        own = r'name="csrfmiddlewaretoken" value="\w+"|cloth-\d+'  # the colour of the picture in the header
        page = re.sub(own, "", client.get("/accounts/").content.decode())
        body = re.sub(r"/email/\S+", "", str(letter.body))
        texts = [text.replace(name, "").replace(email, "") for text in (page, body)]
        seen.append((answer.status_code, letter.subject, re.sub(r"<time.*?</time>", "", texts[0]), texts[1]))
    assert seen[0] == seen[1]


def test_an_unverified_address_gets_no_reset_link() -> None:
    client, _ = register()
    (confirm,) = deliver_emails()
    Client().post(RESET, {"email": ADDRESS})
    assert deliver_emails() == []
    client.post(find_link(confirm))
    Client().post(RESET, {"email": ADDRESS})
    (letter,) = deliver_emails()
    assert letter.to == [ADDRESS]


def test_the_reset_email_omits_accounts_with_the_unverified_address() -> None:
    User.objects.create_user("owner", email=ADDRESS, password=PASSWORD)
    for n in range(3):
        register(f"squatter {n}")
    deliver_emails()
    Client().post(RESET, {"email": ADDRESS})
    (letter,) = deliver_emails()
    assert "Hello owner," in str(letter.body)
    assert "squatter" not in str(letter.body)


def test_an_unverified_address_gets_no_notifications() -> None:
    client, _ = register()
    deliver_emails()
    client.post("/accounts/email/", {"email": "other@example.org", "password": PASSWORD})
    assert {letter.to[0] for letter in deliver_emails()} == {"other@example.org"}
    new = {"old_password": PASSWORD, "new_password1": "an entirely new one", "new_password2": "an entirely new one"}
    assert client.post("/accounts/password_change/", new).status_code == 302
    deletion.request_deletion(User.objects.get())
    assert take_hinted_tasks() == []


def test_the_link_is_sent_again_up_to_a_limit() -> None:
    client, _ = register()
    links = [find_link(letter) for letter in deliver_emails()]
    for _ in range(4):
        assert client.post(AGAIN).headers["Location"] == "/accounts/"
        links += [find_link(letter) for letter in deliver_emails()]
    assert len(links) == 5
    assert client.post(AGAIN).status_code == 429
    assert deliver_emails() == []
    FailedLogins.objects.update(ends_at=timezone.now() - timedelta(seconds=1))
    client.post(links[0])
    assert User.objects.get().email == ADDRESS
    assert client.post(AGAIN).status_code == 302  # no address waits for verification
    assert deliver_emails() == []


def test_only_the_owner_can_request_the_link_again() -> None:
    register()
    deliver_emails()
    assert Client().post(AGAIN).headers["Location"].startswith("/accounts/login/")
    other = Client()
    other.force_login(User.objects.create_user("eve"))
    assert other.get(AGAIN).status_code == 405
    other.post(AGAIN)
    assert deliver_emails() == []


def test_many_accounts_with_one_address_do_not_flood_it() -> None:
    answers = [register(f"reader {n}")[1].status_code for n in range(7)]
    assert answers == [302] * 7
    assert len(deliver_emails()) == 5
    assert EmailChange.objects.count() == 7


def test_an_address_entered_by_staff_must_be_verified() -> None:
    staff, alice = User.objects.create_superuser("staff"), User.objects.create_user("alice", email="old@example.org")
    client = Client()
    client.force_login(staff)
    page = f"/admin/accounts/user/{alice.pk}/change/"
    form = client.get(page).context["adminform"].form
    given = {name: value for name, value in form.initial.items() if isinstance(value, str)}
    inline = {"login_stats-TOTAL_FORMS": "0", "login_stats-INITIAL_FORMS": "0"}
    given |= inline | {"email": ADDRESS, "is_active": "on"}
    assert client.post(page, given).status_code == 302
    alice.refresh_from_db()
    assert alice.email == "old@example.org"
    (letter,) = deliver_emails()
    assert letter.to == [ADDRESS]
    assert passwords.find_users(ADDRESS) == []
