"""Outdated CSRF tokens, and forms that were submitted without a login."""

from typing import Any
from urllib.parse import unquote

import pytest
from django.test import Client

from accounts.models import User
from catalog.models import Book
from catalog.shelves.models import ShelfEntry
from common.web import kept_forms
from shop.models import Product
from social.models import Post
from social.reviews.models import Review

pytestmark = pytest.mark.django_db
OWN, HTTP_OWN = "https://testserver", "http://testserver"
FOREIGN_HEADERS: list[dict[str, str]] = [
    {},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
    {"Origin": "https://testserver.evil.example"},
    {"Origin": "https://testserver:8443"},
    {"Origin": HTTP_OWN},
    {"Origin": "https://sub.testserver", "Sec-Fetch-Site": "same-site"},
    {"Origin": OWN, "Sec-Fetch-Site": "cross-site"},
    {"Origin": OWN, "Sec-Fetch-Site": "same-site"},
    {"Origin": OWN, "Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Referer": f"{OWN}/books/", "Sec-Fetch-Site": "same-origin"},
    {"Referer": f"{OWN}/books/"},
]
OUTDATED = "a" * 64


@pytest.fixture
def reader() -> User:
    return User.objects.create_user("rita", password="a quiet bookshop")


@pytest.fixture
def book() -> Book:
    return Book.objects.create(title="A fine book")


@pytest.fixture
def strict(reader: User) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(reader)
    return client


def shelve(client: Client, book: Book, headers: dict[str, str], **fields: str) -> Any:
    form = {"action": "shelf", "shelf": "read", **fields}
    return client.post(f"/books/{book.pk}/shelf/", form, headers=headers, secure=True)


@pytest.mark.parametrize("token", ["", OUTDATED])
@pytest.mark.parametrize("cookie", ["", "b" * 32])
def test_another_site_changes_nothing(strict: Client, book: Book, token: str, cookie: str) -> None:
    if cookie:
        strict.cookies["csrftoken"] = cookie
    for headers in FOREIGN_HEADERS:
        assert shelve(strict, book, headers, csrfmiddlewaretoken=token).status_code == 403
        assert not ShelfEntry.objects.exists()


def test_another_site_keeps_no_form(book: Book) -> None:
    for headers in FOREIGN_HEADERS:
        anonymous = Client(enforce_csrf_checks=True)
        assert shelve(anonymous, book, headers).status_code == 403
        assert "sessionid" not in anonymous.cookies


@pytest.mark.parametrize("site", [{}, {"Sec-Fetch-Site": "same-origin"}], ids=str)
@pytest.mark.parametrize("path", ["form", "htmx"])
def test_outdated_page_of_this_site_does_what_it_says(
    strict: Client, book: Book, site: dict[str, str], path: str
) -> None:
    strict.cookies["csrftoken"] = "b" * 32
    headers = {"Origin": OWN, **site} | ({"HX-Request": "true"} if path == "htmx" else {})
    assert shelve(strict, book, headers, csrfmiddlewaretoken=OUTDATED).status_code < 400
    assert ShelfEntry.objects.get().shelf == "read"


def test_answer_to_an_outdated_page_has_the_present_token(strict: Client, book: Book) -> None:
    strict.cookies["csrftoken"] = "b" * 32
    headers = {"Origin": OWN, "HX-Request": "true"}
    page = shelve(strict, book, headers, csrfmiddlewaretoken=OUTDATED).content.decode()
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    assert shelve(strict, book, {"Referer": f"{OWN}/"}, csrfmiddlewaretoken=token).status_code == 302


def submit_post(client: Client, text: str = "A long thought", **fields: str) -> str:
    """Submit a post without a login. Return the address to which the login leads on."""
    answer = client.post("/posts/", {"text": text, "key": "one", **fields})
    assert answer.status_code == 302
    return str(answer["Location"].partition("next=")[2])


def log_in(client: Client, target: str) -> Any:
    form = {"username": "rita", "password": "a quiet bookshop", "next": target}
    return client.post("/accounts/login/", form, follow=True)


def test_a_browser_that_blocks_cookies_learns_it_at_forms_that_change_only_the_session(
    reader: User, book: Book
) -> None:
    Product.objects.create(book=book, price=1250, stock=3)
    addition = {"product": book.pk, "quantity": 1, "add": 1}
    login = {"username": "rita", "password": "a quiet bookshop"}
    account = {"username": "otto", "password1": "a quiet bookshop", "password2": "a quiet bookshop"}
    for path, form in (("/shop/cart/", addition), ("/accounts/login/", login), ("/accounts/register/", account)):
        browser, same = Client(enforce_csrf_checks=True), {"Origin": OWN, "Sec-Fetch-Site": "same-origin"}
        token = browser.get("/accounts/login/", secure=True).cookies["csrftoken"].value
        browser.cookies.clear()
        answer = browser.post(path, {**form, "csrfmiddlewaretoken": token}, headers=same, secure=True)
        assert (answer.status_code, "allow cookies" in answer.content.decode()) == (403, True), path
        browser.cookies["theme"] = "dark"
        assert browser.post(path, form, headers=same, secure=True).status_code in (302, 303), path


def test_kept_post_is_shown_once_after_the_login_and_is_not_sent_by_a_get(client: Client, reader: User) -> None:
    target = submit_post(client, "<b>one</b>\r\ntwo")
    page = log_in(client, target).content.decode()
    assert 'action="/posts/"' in page
    assert '<input type="hidden" name="text" value="&lt;b&gt;one&lt;/b&gt;\r\ntwo">' in page
    assert '<input type="hidden" name="key" value="one">' in page
    assert not Post.objects.exists()
    assert client.get(target).status_code == 302


def test_kept_form_belongs_to_its_session(client: Client, reader: User) -> None:
    target = submit_post(client)
    other = Client()
    other.force_login(reader)
    assert other.get(target).status_code == 302


def test_kept_form_waits_for_the_login(client: Client, reader: User) -> None:
    target = submit_post(client)
    assert client.get(target)["Location"] == f"/accounts/login/?next={target}"
    assert "A long thought" in log_in(client, target).content.decode()


@pytest.fixture
def other() -> User:
    return User.objects.create_user("otto", password="a quiet bookshop")


def test_kept_form_is_only_for_the_reader_who_was_logged_in(client: Client, reader: User, other: User) -> None:
    log_in(client, "/home/")
    client.post("/accounts/logout/")
    target = submit_post(client)
    answer = client.post("/accounts/login/", {"username": "otto", "password": "a quiet bookshop", "next": target})
    assert "A long thought" not in str(dict(client.session))
    assert "A long thought" not in client.get(answer["Location"], follow=True).content.decode()
    assert not Post.objects.exists()


def test_kept_form_returns_to_the_reader_who_was_logged_in(client: Client, reader: User) -> None:
    log_in(client, "/home/")
    del client.cookies["sessionid"]
    page = log_in(client, submit_post(client)).content.decode()
    assert "A long thought" in page
    assert "data-send-at-once" in page


def test_an_outdated_page_of_another_reader_has_to_be_confirmed(reader: User, other: User, book: Book) -> None:
    client = Client(enforce_csrf_checks=True)
    headers = {"Origin": OWN, "Sec-Fetch-Site": "same-origin"}
    client.get("/accounts/login/", secure=True)
    for name in ("rita", "otto"):
        client.cookies.pop("sessionid", None)
        form = {"username": name, "password": "a quiet bookshop"}
        assert client.post("/accounts/login/", form, headers=headers, secure=True).status_code == 302
    answer = shelve(client, book, headers, csrfmiddlewaretoken=OUTDATED)
    assert not ShelfEntry.objects.exists()
    page = client.get(answer["Location"], secure=True).content.decode()
    assert "Someone else was logged in here" in page
    assert "data-send-at-once" not in page
    token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    shelve(client, book, headers, csrfmiddlewaretoken=token)
    assert ShelfEntry.objects.get().user == other


def test_a_session_with_a_form_of_an_older_release_can_log_in(client: Client, reader: User) -> None:
    submit_post(client)
    session = client.session
    session["_kept_forms"] = {"old": ["/posts/", [["text", "without a reader"]]]}
    session.save()
    page = log_in(client, "/accounts/resume/old/")
    assert page.status_code == 200
    assert "without a reader" not in page.content.decode()


def test_logout_forgets_kept_forms(client: Client, reader: User) -> None:
    target = submit_post(client)
    client.force_login(reader)
    client.post("/accounts/logout/")
    client.force_login(reader)
    assert client.get(target).status_code == 302


def test_the_longest_review_is_kept_and_published_after_the_login(client: Client, reader: User, book: Book) -> None:
    path = f"/books/{book.pk}/review/"
    text = "\r\n".join(["é" * 49] * 400)
    answer = client.post(path, {"text": text, "stars": "3.5", "note": "", "language": ""})
    page = log_in(client, answer["Location"].partition("next=")[2])
    kept = dict(page.context["form"].fields)
    assert kept == {"text": text, "stars": "3.5", "note": "", "language": ""}
    assert client.post(path, kept).status_code == 302
    assert Review.objects.get(user=reader).text == text.replace("\r\n", "\n")


def test_number_and_length_of_kept_forms_are_bounded(client: Client, reader: User) -> None:
    targets = [submit_post(client, f"text {number}") for number in range(kept_forms.MAX_FORMS + 1)]
    assert submit_post(client, "x" * kept_forms.MAX_CHARACTERS) == "/home/"
    assert "/home/" not in targets
    client.force_login(reader)
    assert [client.get(target).status_code for target in targets] == [302, 200, 200, 200]


def test_card_number_is_not_kept(client: Client, reader: User) -> None:
    log_in(client, "/")
    del client.cookies["sessionid"]  # the session ended, but the browser is known: guests get another answer
    card = {"card": "4242 4242 4242 4242", "expiry": "11/39", "code": "678"}
    answer = client.post("/shop/checkout/", {"name": "Rita Reader", **card})
    page = log_in(client, answer["Location"].partition("next=")[2]).content.decode()
    assert "Rita Reader" in page
    assert not [part for part in ("4242", "11/39", "678") if part in page]


@pytest.mark.parametrize("path", ["/accounts/delete/", "/accounts/email/", "/accounts/password_change/"])
def test_password_is_not_kept(client: Client, path: str) -> None:
    client.post(path, {"password": "my secret", "old_password": "my secret", "email": "rita@example.org"})
    assert "my secret" not in str(dict(client.session))


def test_admin_form_survives_the_end_of_the_proof(client: Client, admin_user: User, settings: Any) -> None:
    settings.SECOND_FACTOR_FOR_STAFF = False
    settings.RECENT_LOGIN_SECONDS = -1
    client.force_login(admin_user)
    answer = client.post("/admin/catalog/book/add/", {"title": "A long title", "password": "my secret"})
    confirm = unquote(client.get(answer["Location"], follow=True).redirect_chain[-1][0])
    assert confirm.startswith("/accounts/confirm/?next=/accounts/resume/")
    settings.RECENT_LOGIN_SECONDS = 600
    target = confirm.partition("next=")[2]
    page = client.post("/accounts/confirm/", {"password": "password", "next": target}, follow=True).content.decode()
    assert 'action="/admin/catalog/book/add/"' in page
    assert 'value="A long title"' in page
    assert "my secret" not in page


def test_second_tab_with_a_second_factor_leads_on(client: Client, reader: User) -> None:
    client.force_login(reader)
    assert client.post("/accounts/login/factor/", {"code": "123456"})["Location"] == "/"
