"""Names of tags as pages show them."""

import pytest
from django.conf import settings
from django.test import Client
from django.utils.translation import override

from catalog.models import Book
from catalog.values.tag_labels import FREQUENT, get_tag_label
from tests.support.catalog.make import make_book
from tests.support.warm_mirrors import rebuild

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def book(transactional_db: None) -> Book:
    book = make_book("Dune", tags="science-fiction desert-planet")
    rebuild()
    return book


@pytest.mark.parametrize(
    ("name", "english", "chinese"),
    [
        ("science-fiction", "science fiction", "科幻"),
        ("science fiction", "science fiction", "科幻"),
        ("desert-planet", "desert planet", "desert planet"),
        ("non-fiction", "non-fiction", "非虚构"),
        ("catch-22", "catch-22", "catch-22"),
        ("20th-century", "20th century", "20th century"),
        ("-", "-", "-"),
        ("武侠", "武侠", "武侠"),
    ],
)
def test_labels_have_blanks_and_translations(name: str, english: str, chinese: str) -> None:
    with override("en"):
        assert get_tag_label(name) == english
    with override("zh-hans"):
        assert get_tag_label(name) == chinese


def test_each_frequent_label_has_a_translation() -> None:
    with override("zh-hans"):
        assert all(not str(label).isascii() for label in FREQUENT.values())


@pytest.mark.parametrize(("language", "label"), [("en", "science fiction"), ("zh-hans", "科幻")])
def test_pages_show_labels_and_keep_names_in_addresses(client: Client, book: Book, language: str, label: str) -> None:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    page = client.get(f"/books/{book.pk}/").content.decode()
    assert f'href="/books/?q=science-fiction">{label}' in page
    assert f'"keywords":"desert planet, {label}"' in page or f'"keywords":"{label}, desert planet"' in page
    assert ">science-fiction<" not in page
    page = client.get("/books/?q=science-fiction").content.decode()
    assert f"<title>{label} · " in page
    assert f"{label}<svg" in page  # the chip
    assert 'value="science-fiction"' in page  # the query to edit
    page = client.get("/books/").content.decode()
    assert f"<span>{label}</span>" in page
    page = client.get("/search/?q=science-fiction").content.decode()
    assert f"{label} <span" in page


def test_a_title_joins_the_labels_as_a_query(client: Client, book: Book) -> None:
    page = client.get("/books/", {"q": "science-fiction - desert-planet"}).content.decode()
    assert "<title>&quot;science fiction&quot; - &quot;desert planet&quot; · " in page or (
        "<title>&#34;science fiction&#34; - &#34;desert planet&#34; · " in page
    )
