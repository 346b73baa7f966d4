"""Forms of the admin that were open while somebody else changed the row: no save reverts what it does not show."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.utils import timezone

from accounts.deletion import request_deletion
from accounts.models import AccountDeletion, User
from accounts.suspension import suspend_user
from accounts.users.renaming import change_name
from catalog.details.models import BookDetails
from catalog.models import Author, Book, Tag
from tests.support.catalog.make import make_book
from tests.support.site.admin_forms import page_of, read_form, save

pytestmark = pytest.mark.django_db(transaction=True)
TOLD = "Someone else changed this"


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def open_form(staff: Client, row: Any) -> dict[str, list[str]]:
    return read_form(staff.get(page_of(row)).content.decode(), f"{row._meta.model_name}_form")


def test_an_account_that_its_owner_deletes_stays_deleted(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    shown = open_form(staff, alice)
    request_deletion(alice)
    assert TOLD not in save(staff, alice, shown | {"first_name": ["Ann"]})
    assert (alice.first_name, alice.is_active) == ("Ann", False)
    assert AccountDeletion.objects.filter(user=alice).exists()


def test_a_user_who_is_suspended_stays_suspended(staff: Client) -> None:
    alice = User.objects.create_user("alice")
    shown = open_form(staff, alice)
    suspend_user(alice.pk, timezone.now() + timedelta(days=3), notice="")
    save(staff, alice, shown | {"last_name": ["Ash"]})
    assert (alice.last_name, alice.is_active) == ("Ash", False)


def test_a_name_and_an_address_that_the_owner_changes_stay(staff: Client) -> None:
    alice = User.objects.create_user("alice", email="old@example.org")
    shown = open_form(staff, alice)
    change_name(alice.pk, "alicia")
    User.objects.update(email="new@example.org")
    page = save(staff, alice, shown | {"user_type": ["office"]})
    assert (alice.username, alice.email, alice.user_type) == ("alicia", "new@example.org", "office")
    assert "a link was sent to it" not in page


def test_a_group_that_a_colleague_takes_away_stays_away(staff: Client) -> None:
    shop, support = (Group.objects.create(name=name) for name in ("shop", "support"))
    alice = User.objects.create_user("alice", is_staff=True)
    alice.groups.set([shop, support])
    shown = open_form(staff, alice)
    alice.groups.remove(shop)
    save(staff, alice, shown | {"first_name": ["Ann"]})
    assert set(alice.groups.all()) == {support}


def test_two_changes_of_groups_conflict_once(staff: Client) -> None:
    shop, support, analyst = (Group.objects.create(name=name) for name in ("shop", "support", "analyst"))
    alice = User.objects.create_user("alice", is_staff=True)
    alice.groups.set([shop, support])
    shown = open_form(staff, alice)
    alice.groups.set([support])
    response = staff.post(page_of(alice), shown | {"groups": [str(shop.pk), str(analyst.pk)]})
    assert f"{TOLD} to: support." in response.content.decode()
    again = read_form(response.content.decode(), "user_form")
    assert TOLD not in save(staff, alice, again)
    assert set(alice.groups.all()) == {shop, analyst}


def test_fields_of_a_book_keep_the_changes_of_a_colleague(staff: Client) -> None:
    book = make_book("Emma", authors="Jane Austen", tags="novel")
    BookDetails.objects.create(book=book, publisher="Murray", description="A match")
    shown = open_form(staff, book)
    Book.objects.update(year=1815, original_title="Emma!")
    BookDetails.objects.update(description="A match-maker")
    book.authors.set([Author.objects.create(name="J. Austen")])
    assert TOLD not in save(staff, book, shown | {"title": ["Emma."], "details-0-publisher": ["Penguin"]})
    assert (book.title, book.year, book.original_title) == ("Emma.", 1815, "Emma!")
    assert [author.name for author in book.authors.all()] == ["J. Austen"]
    details = BookDetails.objects.get()
    assert (details.publisher, details.description) == ("Penguin", "A match-maker")


def test_a_conflicting_title_is_refused_once(staff: Client) -> None:
    book = make_book("Emma", authors="Jane Austen")
    shown = open_form(staff, book)
    Book.objects.update(title="Emma: A Novel")
    response = staff.post(page_of(book), shown | {"title": ["Emma."]})
    assert f"{TOLD} to: Emma: A Novel." in response.content.decode()
    again = read_form(response.content.decode(), "book_form")
    assert TOLD not in save(staff, book, again)
    assert book.title == "Emma."


def test_an_author_keeps_the_changes_of_a_colleague(staff: Client) -> None:
    author = Author.objects.create(name="Jane Austen", bio="Born 1775")
    shown = open_form(staff, author)
    Author.objects.update(bio="Born in 1775")
    save(staff, author, shown | {"name": ["J. Austen"]})
    assert (author.name, author.bio) == ("J. Austen", "Born in 1775")


def test_the_list_of_tags_shows_no_tag_again_that_was_hidden_meanwhile(staff: Client) -> None:
    for name in ("bad", "good"):
        Tag.objects.create(name=name)
    shown = read_form(staff.get("/admin/catalog/tag/").content.decode(), "changelist-form")
    Tag.objects.filter(name="bad").update(hidden=True)
    # The rows are in the order of names.
    sent = shown | {"form-1-hidden": ["on"], "_save": ["Save"]}
    assert staff.post("/admin/catalog/tag/", sent).status_code == 302
    assert dict(Tag.objects.values_list("name", "hidden")) == {"bad": True, "good": True}
