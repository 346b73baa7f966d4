"""Staff delete accounts as their owners do: with a grace period, after a confirmation, and in the audit log."""

from typing import Any

import pytest
import regex
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import AccountDeletion, AuditEvent, User
from shop.models import Order
from tests.support.accounts.mail import deliver_emails
from tests.support.shop.make import make_order, make_product
from tests.support.site.admin_forms import page_of, read_form, save

USERS = "/admin/accounts/user/"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def carol(client: Client) -> User:
    """Return a superuser, who is logged in."""
    carol = User.objects.create_superuser("carol")
    client.force_login(carol)
    return carol


@pytest.fixture
def alice() -> User:
    """Return a user whose row SQL protects, because it has an order."""
    alice = User.objects.create_user("alice", email="alice@example.org", password="a quiet bookshop")
    make_order(alice, make_product())
    return alice


def delete(client: Client, *users: User, **given: str) -> Any:
    asked = {"action": "delete_accounts", "_selected_action": [user.pk for user in users]}
    return client.post(USERS, asked | given, follow=True)


def edit(client: Client, user: User, **values: Any) -> None:
    """Send the form of a user with these values, as a browser does."""
    given = read_form(client.get(page_of(user)).content.decode(), "user_form")
    save(client, user, given | values)


@pytest.mark.parametrize(("language", "title"), [("en", "Delete these accounts?"), ("zh-hans", "删除这些账号？")])
def test_the_button_of_a_user_and_the_action_of_the_list_ask_first(
    client: Client, carol: User, alice: User, language: str, title: str
) -> None:
    page = client.get(f"{USERS}{alice.pk}/change/").content.decode()
    assert f'href="{USERS}{alice.pk}/delete/"' in page
    client.cookies["django_language"] = language
    for response in (client.get(f"{USERS}{alice.pk}/delete/"), delete(client, alice)):
        text = response.content.decode()
        assert title in text
        assert f'value="{alice.pk}"' in text
        assert "alice" in text
    assert not AccountDeletion.objects.exists()


def test_a_confirmed_deletion_starts_the_grace_period(client: Client, carol: User, alice: User) -> None:
    there = Client()
    there.force_login(alice)
    page = delete(client, alice, confirmed="yes").content.decode()
    assert "1 account will be deleted in" in page
    alice.refresh_from_db()
    assert not alice.is_active
    assert AccountDeletion.objects.get().user == alice
    assert there.get("/accounts/").status_code == 302
    (letter,) = deliver_emails()
    assert letter.to == ["alice@example.org"]
    assert "The administrators of this site will delete your account" in str(letter.body)
    event = AuditEvent.objects.get()
    assert (event.actor, event.object, event.kind) == (carol, "alice", AuditEvent.Kind.STAFF)
    assert "Scheduled the deletion of the account." in event.details
    assert Order.objects.filter(user=alice).exists()


def test_the_owner_may_keep_the_account(client: Client, carol: User, alice: User) -> None:
    delete(client, alice, confirmed="yes")
    page = Client().post("/accounts/login/", {"username": "alice", "password": "a quiet bookshop"}, follow=True)
    assert "Keep your account?" in page.content.decode()


def test_a_second_request_does_not_prolong_the_grace_period(client: Client, carol: User, alice: User) -> None:
    delete(client, alice, confirmed="yes")
    due_at = AccountDeletion.objects.get().due_at
    assert "0 accounts will be deleted" in delete(client, alice, confirmed="yes").content.decode()
    assert AccountDeletion.objects.get().due_at == due_at


def test_nobody_deletes_their_own_account_in_the_admin(client: Client, carol: User) -> None:
    assert client.get(f"{USERS}{carol.pk}/delete/").status_code == 403
    assert f"{USERS}{carol.pk}/delete/" not in client.get(f"{USERS}{carol.pk}/change/").content.decode()
    delete(client, carol, confirmed="yes")
    carol.refresh_from_db()
    assert carol.is_active


def test_support_without_the_permission_deletes_nobody(alice: User) -> None:
    dora = User.objects.create_user("dora", is_staff=True)
    dora.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
    client = Client()
    client.force_login(dora)
    assert "Delete the accounts" not in client.get(USERS).content.decode()
    assert client.get(f"{USERS}{alice.pk}/delete/").status_code == 403
    delete(client, alice, confirmed="yes")
    assert not AccountDeletion.objects.exists()


def test_a_missing_user_leads_back_to_the_list(client: Client, carol: User) -> None:
    assert client.get(f"{USERS}4711/delete/").status_code == 302


def test_a_user_without_the_mark_active_is_logged_out_for_good(client: Client, carol: User, alice: User) -> None:
    reader = Client()
    reader.force_login(alice)
    edit(client, alice, is_active=[])
    edit(client, alice, is_active="on")
    assert User.objects.get(pk=alice.pk).is_active
    assert reader.get("/accounts/").status_code == 302
    assert deliver_emails() == []


def test_an_address_that_staff_remove_is_told(client: Client, carol: User, alice: User) -> None:
    edit(client, alice, email="")
    assert User.objects.get(pk=alice.pk).email == ""
    (letter,) = deliver_emails()
    assert letter.to == ["alice@example.org"]
    assert "was removed" in letter.body


def test_emails_that_staff_cause_have_the_language_of_the_user(client: Client, carol: User, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(language="en")
    client.cookies["django_language"] = "zh-hans"
    edit(client, alice, email="new@example.org")
    letters = deliver_emails()
    client.post(USERS, {"action": "remove_factors", "_selected_action": [alice.pk]})
    delete(client, alice, confirmed="yes")
    letters += deliver_emails()
    assert [letter.to for letter in letters] == [["new@example.org"], ["alice@example.org"], ["alice@example.org"]]
    for letter in letters:
        assert not regex.search(r"\p{Han}", f"{letter.subject} {letter.body}")
