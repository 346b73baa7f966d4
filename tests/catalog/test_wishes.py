"""Wishes: a reader asks for a book, and staff decide."""

import re

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from catalog.wishes.models import BookWish, State

pytestmark = pytest.mark.django_db(transaction=True)
PATH = "/wishes/"
ADMIN = "/admin/wishes/bookwish/"


def test_a_reader_asks_once_and_staff_decide(client: Client, settings: Settings) -> None:
    settings.WISH_RATES = ((4, 3600),)
    nothing = client.get("/search/", {"q": "Zorp the Untold"}).content.decode()
    assert 'href="/wishes/?title=Zorp%20the%20Untold"' in nothing
    assert client.get(PATH).status_code == 302
    reader = User.objects.create_user("rita")
    client.force_login(reader)
    assert 'value="Zorp the Untold"' in client.get(PATH, {"title": "Zorp the Untold"}).content.decode()
    for title in (" Zorp  the Untold", "zorp the untold"):
        answer = client.post(PATH, {"title": title, "note": "by A. N. Other"}, follow=True)
        assert "Staff will look for “" in answer.content.decode()
    assert client.post(PATH, {"title": ""}).status_code == 400
    assert client.post(PATH, {"title": "x"}).status_code == 302
    assert client.post(PATH, {"title": "y"}).status_code == 429
    wish = BookWish.objects.get(title="Zorp the Untold")
    assert (wish.user_id, wish.note, wish.state) == (reader.pk, "by A. N. Other", State.OPEN)
    staff = User.objects.create_user("sam", is_staff=True)
    client.force_login(staff)
    assert client.get(ADMIN).status_code == 403
    staff.user_permissions.add(Permission.objects.get(codename="change_book"))
    BookWish.objects.create(user=staff, title="ZORP the untold")
    listed = client.get(ADMIN).content.decode()
    assert re.findall(r"field-readers[^>]*>\s*(\d+)", listed) == ["2", "1", "2"]
    given = {"action": "fulfil", "_selected_action": [wish.pk]}
    client.post(ADMIN, given)
    wish.refresh_from_db()
    assert wish.state == State.FULFILLED


def test_the_page_shows_what_became_of_the_own_wishes(client: Client) -> None:
    reader, other = User.objects.create_user("rita"), User.objects.create_user("olga")
    for user, title, state in (
        (reader, "Zorp", State.FULFILLED),
        (reader, "Yarn", State.DECLINED),
        (other, "Xyl", State.OPEN),
    ):
        BookWish.objects.create(user=user, title=title, state=state)
    client.force_login(reader)
    for page in (client.get(PATH), client.post(PATH, {"title": ""})):
        shown = page.content.decode().partition("My requests")[2].partition("</ul>")[0]
        assert re.findall(r"<bdi>(\w+)</bdi>.*?(\w+)</span>", shown) == [("Yarn", "declined"), ("Zorp", "fulfilled")]
        assert 'href="/search/?q=Zorp"' in shown
        assert 'href="/search/?q=Yarn"' not in shown


def test_a_decided_wish_is_open_again_when_its_reader_asks_again(client: Client) -> None:
    reader, other = User.objects.create_user("rita"), User.objects.create_user("olga")
    for user in (reader, other):
        BookWish.objects.create(user=user, title="Zorp", note="by A.", state=State.DECLINED)
    client.force_login(reader)
    for note, kept in (("", "by A."), ("reprinted", "reprinted"), ("", "reprinted")):
        page = client.post(PATH, {"title": "zorp", "note": note}, follow=True).content.decode()
        assert "Staff will look for “zorp”." in page
        assert BookWish.objects.values_list("title", "note", "state").get(user=reader) == ("Zorp", kept, State.OPEN)
    assert BookWish.objects.get(user=other).state == State.DECLINED
