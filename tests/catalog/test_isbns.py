"""ISBNs: one number in every spelling, for staff, imports, data for machines and raw SQL."""

import re

import orjson
import pytest
from django.db import connection
from django.test import Client

from accounts.models import User
from catalog.models import Book
from catalog.values.isbns import find_isbns, has_wrong_check_digit, normalise_isbn
from tests.support.catalog.make import NO_DETAILS, make_book, make_products

pytestmark = [pytest.mark.django_db, pytest.mark.also_on("sqlite")]
POTTER = "9780439655484"
SPELLINGS = [
    "978‑0‑439‑65548‑4",
    "978-0-439-65548-4",
    "978–0–439–65548–4",
    "978—0—439—65548—4",
    "978−0−439−65548−4",
    "978﹣0﹣439﹣65548﹣4",
    "978ー0ー439ー65548ー4",
    "９７８－０－４３９－６５５４８－４",
    "978\u00a00\u2009439 65548 4",
    "978\u00ad0439\u200b655484",
    " 9780439655484 ",
    "ISBN 978-0-439-65548-4",
    "ISBN-13: 9780439655484",
    "0-439-65548-X",
    "ISBN-10: 043965548x",
]
WRONG = ["978-0-439-65548-5", "9780439655485", "978‑0‑439‑65584‑4", "0-439-65548-3", "0439655480", "9790439655484"]
OTHER = [
    "1984",
    "1939-45",
    "123456789",
    "12345678901234",
    "9770439655484",
    "97804396554X4",
    "0000000000",
    "soon",
    "978-0-439",
]


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def test_all_spellings_are_one_number() -> None:
    for written in SPELLINGS:
        assert normalise_isbn(written) == POTTER
        assert find_isbns(f"Potter {written}, second-hand") == [POTTER]


def test_a_wrong_check_digit_is_told_from_other_texts() -> None:
    for written in WRONG:
        assert has_wrong_check_digit(written)
        assert normalise_isbn(written) == written
        assert find_isbns(written) == []


def test_other_numbers_are_no_isbn() -> None:
    for written in OTHER:
        assert not has_wrong_check_digit(written)
        assert normalise_isbn(written) == written
        assert find_isbns(written) == []


def _save(staff: Client, path: str = "add/", **fields: str) -> str:
    form = {
        "title": "Potter",
        "popularity": "0",
        "tagging_set-TOTAL_FORMS": "0",
        "tagging_set-INITIAL_FORMS": "0",
    } | NO_DETAILS
    return staff.post(f"/admin/catalog/book/{path}", form | fields, follow=True).content.decode()


@pytest.mark.parametrize("written", SPELLINGS)
def test_staff_paste_any_spelling(staff: Client, written: str) -> None:
    _save(staff, isbn=written)
    assert Book.objects.get().isbn == POTTER


def test_staff_are_told_about_a_wrong_check_digit(staff: Client) -> None:
    for written in WRONG:
        assert "The check digit of this ISBN is wrong." in _save(staff, isbn=written)
        assert not Book.objects.exists()


def test_staff_cannot_store_other_texts(staff: Client) -> None:
    for written in OTHER:
        assert "Enter an ISBN: ten or thirteen digits" in _save(staff, isbn=written)
        assert not Book.objects.exists()


def _change(staff: Client, book: Book, **fields: str) -> str:
    return _save(staff, f"{book.pk}/change/", **fields)


def test_staff_are_led_to_the_other_book_with_an_isbn(staff: Client) -> None:
    other = make_book("Salt & <b>Moss</b>", isbn=POTTER)
    book = make_book("Potter", isbn="9780439023481")
    link = f'<a class="underline" href="/admin/catalog/book/{other.pk}/change/">Salt &amp; &lt;b&gt;Moss&lt;/b&gt;</a>'
    for written in SPELLINGS:
        assert f"Another book has this ISBN: {link}" in _change(staff, book, isbn=written)
        assert f"Another book has this ISBN: {link}" in _save(staff, isbn=written)
    staff.cookies["django_language"] = "zh-hans"
    assert f"另一本书已有这个 ISBN：{link}" in _change(staff, book, isbn=POTTER)
    assert dict(Book.objects.values_list("pk", "isbn")) == {other.pk: POTTER, book.pk: "9780439023481"}


def test_two_books_that_share_an_isbn_can_still_be_changed(staff: Client) -> None:
    make_book("Salt", isbn=POTTER)
    book = make_book("Potter", isbn=POTTER)
    _change(staff, book, isbn="0-439-65548-X", title="Moss")
    assert set(Book.objects.values_list("title", "isbn")) == {("Salt", POTTER), ("Moss", POTTER)}
    _change(staff, book, title="Fern", **{"initial-isbn": POTTER})
    assert Book.objects.get(pk=book.pk).isbn == ""
    make_book("Oak")
    _change(staff, book, title="Fern")  # two books without an ISBN


SEARCHED = ["978‑0‑439‑65548‑4", "0-439-65548-X", "043965548x", POTTER]


@pytest.mark.parametrize("path", ["/admin/catalog/book/", "/admin/shop/product/"])
def test_staff_find_a_book_by_any_spelling(staff: Client, path: str) -> None:
    make_products([make_book("Potter", isbn=POTTER), make_book("Salt", isbn="9780439023481")])
    for written in SEARCHED:
        page = staff.get(path, {"q": written}).content.decode()
        assert "Potter" in page
        assert "Salt" not in page


def test_every_way_through_the_orm_stores_thirteen_digits() -> None:
    book = make_book("Potter", isbn="0-439-65548-X")
    assert Book.objects.values_list("isbn", flat=True).get() == POTTER
    Book.objects.update(isbn="")
    book.isbn = "978‑0‑439‑65548‑4"
    Book.objects.bulk_update([book], ["isbn"])
    assert Book.objects.filter(isbn="043965548x").get().isbn == POTTER


@pytest.mark.parametrize(("stored", "shown"), [("043965548x", POTTER), (POTTER, POTTER), ("9780439655485", None)])
def test_data_for_machines_have_thirteen_correct_digits(client: Client, stored: str, shown: str | None) -> None:
    book = make_book("Potter")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE catalog_book SET isbn = %s", [stored])
    html = client.get(f"/books/{book.pk}/").content.decode()
    [block] = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL)
    assert orjson.loads(block).get("isbn") == shown
    assert ('<meta property="book:isbn"' in html) == (shown is not None)
