"""Staff see public shelves in the admin, and change none of them."""

from datetime import date

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from catalog.models import Book
from catalog.shelves import services
from catalog.shelves.models import Privacy, Shelf, ShelfEntry

pytestmark = pytest.mark.django_db

LIST = "/admin/catalog/shelfentry/"
TODAY = date(2026, 6, 1)


def log_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def superuser() -> Client:
    return log_in(User.objects.create_superuser("carol"))


def shelve(name: str, title: str, privacy: Privacy = Privacy.PUBLIC) -> ShelfEntry:
    """Put a new book on a shelf with this privacy of a new reader."""
    reader, book = User.objects.create_user(name), Book.objects.create(title=title)
    services.set_privacy(reader.pk, Shelf.READ, privacy)
    services.put_on_shelf(reader.pk, book.pk, Shelf.READ, TODAY)
    return ShelfEntry.objects.get(user=reader)


def test_restricted_shelves_are_hidden_even_from_superusers(superuser: Client) -> None:
    shown = shelve("Ann", "Open book")
    hidden = [
        shelve("Bea", "Secret book", Privacy.ME),
        shelve("Cleo", "Friends' book", Privacy.FOLLOWERS),
        shelve("Dora", "Deactivated reader's book"),
    ]
    User.objects.filter(username="Dora").update(is_active=False)
    for address in (LIST, f"{LIST}?q=Bea", f"{LIST}?user__id__exact={hidden[0].user_id}"):
        page = superuser.get(address, follow=True).content.decode()
        for entry in hidden:
            assert entry.book.title.partition("'")[0] not in page, address
    assert "Open book" in superuser.get(LIST).content.decode()
    assert "Open book" in superuser.get(f"{LIST}{shown.pk}/change/").content.decode()
    for entry in hidden:
        assert superuser.get(f"{LIST}{entry.pk}/change/").status_code == 302


def test_the_list_finds_a_reader_by_the_exact_name(superuser: Client) -> None:
    shelve("Ann", "Open book")
    shelve("Anna", "Other book")
    page = superuser.get(f"{LIST}?q=ANN").content.decode()
    assert "Open book" in page
    assert "Other book" not in page


def test_entries_are_read_only(superuser: Client) -> None:
    entry = shelve("Ann", "Open book")
    assert superuser.get(f"{LIST}add/").status_code == 403
    assert superuser.post(f"{LIST}{entry.pk}/change/", {"stars": "1"}).status_code == 403
    assert superuser.post(f"{LIST}{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    assert superuser.post(LIST, {"action": "delete_selected", "_selected_action": [entry.pk]}).status_code in (200, 302)
    entry.refresh_from_db()
    assert entry.stars is None


def test_staff_need_the_permission() -> None:
    shelve("Ann", "Open book")
    staff = User.objects.create_user("bob", is_staff=True)
    assert log_in(staff).get(LIST).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="view_shelfentry"))
    page = log_in(staff).get(LIST)
    assert (page.status_code, "Open book" in page.content.decode()) == (200, True)


def test_the_list_asks_the_same_number_of_queries_for_any_number_of_rows(superuser: Client) -> None:
    counts = []
    for more in (1, 9):
        for n in range(more):
            shelve(f"reader {more} {n}", "Open book")
        superuser.get(LIST)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            assert superuser.get(LIST).status_code == 200
        counts.append(len(asked))
    assert counts[0] == counts[1]
