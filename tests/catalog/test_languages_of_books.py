"""Languages of books: known codes, for staff and imports. They are the filters of the list of books."""

import pytest
from django.test import Client
from django.utils.translation import override

from accounts.models import User
from catalog.importer import clean
from catalog.models import Book
from catalog.values.languages import get_language_name
from tests.support.catalog.make import NO_DETAILS, make_book

pytestmark = pytest.mark.django_db
KNOWN = ["en", "ger", "deu", "en-US", "zh-Hans", "pt-BR", "fil", "mul", "lat", "grc", "ENG"]
UNKNOWN = ["klingon!", "klingon", "German", "qqq", "e", "en_US", "en-", "zz", "中文"]


@pytest.fixture
def staff(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("carol"))
    return client


def _save(staff: Client, book: Book, language: str, title: str = "Salt") -> str:
    form = {"title": title, "popularity": "0", "language": language, "initial-language": book.language}
    form |= {"tagging_set-TOTAL_FORMS": "0", "tagging_set-INITIAL_FORMS": "0"} | NO_DETAILS
    return staff.post(f"/admin/catalog/book/{book.pk}/change/", form, follow=True).content.decode()


def test_staff_and_imports_store_known_codes(staff: Client) -> None:
    book = make_book("Salt")
    for code in [*KNOWN, ""]:
        _save(staff, book, code)
        book.refresh_from_db()
        assert book.language == code
    assert [clean.parse_language(code) for code in KNOWN] == KNOWN


@pytest.mark.parametrize("code", UNKNOWN)
def test_other_texts_are_refused(staff: Client, code: str) -> None:
    book = make_book("Salt", language="en")
    page = _save(staff, book, code)
    assert f"“{code}” is not a known language code. Enter a code such as en, ger or zh-Hans." in page
    book.refresh_from_db()
    assert book.language == "en"
    assert clean.parse_language(code) is None


def test_the_refusal_is_in_the_language_of_the_staff_member(staff: Client) -> None:
    staff.cookies["django_language"] = "zh-hans"
    page = _save(staff, make_book("Salt"), "klingon!")
    assert "“klingon!”不是已知的语言代码。请输入 en、ger 或 zh-Hans 这样的代码。" in page


def test_a_book_with_an_older_text_stays_readable_and_can_be_changed(client: Client, staff: Client) -> None:
    book = make_book("Salt", language="klingon!")
    for path in (f"/books/{book.pk}/", f"/admin/catalog/book/{book.pk}/change/"):
        assert "klingon!" in client.get(path).content.decode()
    _save(staff, book, "klingon!", title="Moss")
    book.refresh_from_db()
    assert (book.title, book.language) == ("Moss", "klingon!")


def test_codes_of_three_letters_have_names() -> None:
    assert [get_language_name(code) for code in ("ger", "lat", "cat", "xyz")] == ["German", "Latin", "Catalan", "xyz"]


def test_names_without_a_translation_of_django_are_translated() -> None:
    for language, names in (("en", ["Norwegian Bokmål", "Norwegian"]), ("zh-hans", ["书面挪威语", "挪威语"])):
        with override(language):
            assert [get_language_name(code) for code in ("nor", "no")] == names
