"""The content of the catalogue's pages: links, chips, facets, hints, and no inline code."""

from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import translation
from django.utils.safestring import SafeString

from catalog.books.records import BookRecord
from catalog.models import Author, Book, Tag
from catalog.template_functions.books import _render_cards, year
from catalog.values.languages import get_language_name
from tests.support.site.html import find_policy_violations

pytestmark = pytest.mark.django_db


@pytest.fixture
def shelf() -> dict[str, Book]:
    """Three books, two of them with the tag ruby and one with web."""
    ruby, web = Tag.objects.create(name="ruby"), Tag.objects.create(name="web & more")
    made = {}
    for n, (title, tags) in enumerate([("Eloquent <Ruby>", [ruby]), ("Rails", [ruby, web]), ("Emma", [])]):
        book = Book.objects.create(title=title, year=-750 if n == 0 else 2000 + n, popularity=10_000 - n, rating=4)
        book.authors.add(Author.objects.create(name=f"Author {n}"))
        book.tags.set(tags)
        made[title] = book
    return made


def page(client: Client, query: str = "", **more: str) -> str:
    return client.get("/books/", {"q": query, **more}).content.decode()


def test_a_card_shows_title_authors_year_and_rating(client: Client, shelf: dict[str, Book]) -> None:
    html = page(client)
    assert "Eloquent &lt;Ruby&gt;" in html
    assert "<Ruby>" not in html
    for words in ("Author 0", "750 BC", "4.00", "3 books", f'href="/books/{shelf["Rails"].pk}/"'):
        assert words in html


def test_facets_link_to_a_narrower_query(client: Client, shelf: dict[str, Book]) -> None:
    html = page(client, "ruby")
    assert 'href="/books/?q=ruby+%26+%22web+%26+more%22"' in html
    assert page(client, 'ruby & "web & more"').count('class="card"') == 1


def test_chips_link_to_the_query_without_their_tag(client: Client, shelf: dict[str, Book]) -> None:
    html = page(client, 'ruby - "web & more"')
    assert 'class="not"' in html
    assert 'href="/books/?q=ruby"' in html
    assert "1 book</h2>" in html


def test_a_new_search_keeps_the_order(client: Client, shelf: dict[str, Book]) -> None:
    html = page(client, "ruby", sort="title")
    assert '<input type="hidden" name="sort" value="title">' in html
    assert html.index("Eloquent") < html.index("Rails")


def test_an_invalid_query_shows_the_place_of_the_error(client: Client, shelf: dict[str, Book]) -> None:
    response = client.get("/books/", {"q": "ruby & <b> &"})
    html = response.content.decode()
    assert response.status_code == 400
    assert "<mark>&amp;</mark>" in html
    assert 'aria-invalid="true"' in html
    assert "<b>" not in html.split("<main")[1]


def test_only_a_shown_tag_of_the_books_can_be_reported(client: Client, shelf: dict[str, Book]) -> None:
    hidden = Tag.objects.create(name="to-read", hidden=True)
    hidden.books.set(shelf.values())
    for query, is_offered in (("ruby", True), ("to-read", False), ("-to-read", False), ("-ruby", False)):
        link = "/report/tag/"
        html = page(client, query)
        assert (link in html) == is_offered, query
        if is_offered:
            address = html.split(link)[1].split('"')[0]
            assert client.get(f"{link}{address}").status_code == 200


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ("ruby & emma", "Remove a tag above"),
        ("rubi", 'Did you mean: <a href="/books/?q=ruby">ruby</a> (2)'),
        ("zzzzzz", "All books and tags"),
    ],
)
def test_an_empty_result_suggests_a_next_step(client: Client, shelf: dict[str, Book], query: str, hint: str) -> None:
    Tag.objects.create(name="emma").books.add(shelf["Emma"])
    html = page(client, query)
    assert hint in html
    # No words announce tags that do not follow.
    assert ":</p>" not in html.split('class="empty"')[1]


def test_an_empty_catalogue_tells_how_to_fill_it(client: Client) -> None:
    assert "manage.py import_goodbooks" in page(client)


def test_the_next_page_is_a_plain_link_or_a_part_for_htmx(client: Client) -> None:
    Book.objects.bulk_create(Book(title=f"Book {n:02}", popularity=100 - n) for n in range(25))
    html = page(client)
    assert html.count('class="card"') == 20
    link = unescape(html.split('rel="next" href="')[1].split('"')[0])
    after = parse_qs(urlsplit(link).query)["after"][0]
    whole, part = client.get(link), client.get(link, headers={"HX-Request": "true"})
    for response in (whole, part):
        text = response.content.decode()
        assert text.count('class="card"') == 5
        assert 'rel="next"' not in text
    assert b"<html" in whole.content
    assert b"<html" not in part.content
    assert b"autofocus" in part.content
    assert after not in part.content.decode()


def test_a_book_page_has_all_its_tags_as_links(client: Client, shelf: dict[str, Book]) -> None:
    html = client.get(f"/books/{shelf['Rails'].pk}/").content.decode()
    assert 'href="/books/?q=ruby"' in html
    assert 'href="/books/?q=%22web+%26+more%22"' in html
    for words in ("Author 1", "2001", "4.00", "9,999 ratings on other sites"):
        assert words in html


def test_a_book_without_facts_has_no_list_of_details(client: Client, shelf: dict[str, Book]) -> None:
    thin = Book.objects.create(title="Thin")
    for book, shown in ((shelf["Rails"], 1), (thin, 0)):
        html = client.get(f"/books/{book.pk}/").content.decode()
        assert html.count('<dl class="facts">') == html.count('id="details"') == shown


@pytest.mark.parametrize("path", ["/books/", "/books/?q=ruby", "/books/?q=ruby+%26", "/books/?q=none", "/books/{pk}/"])
def test_pages_have_no_inline_code_and_no_external_resources(client: Client, shelf: dict[str, Book], path: str) -> None:
    html = client.get(path.format(pk=shelf["Rails"].pk)).content.decode()
    assert find_policy_violations(html) == []


NO_WORDS = (SafeString(), SafeString())


def test_cards_are_cached_by_record_and_language() -> None:
    raws = tuple(
        b'{"id":%d,"title":"T","authors":[],"author_ids":[],"year":-1,"rating":null,"top_tags":[]}' % n
        for n in range(2)
    )
    english = _render_cards(raws, NO_WORDS)
    assert _render_cards(raws, NO_WORDS) is english
    changed = (raws[0], raws[1].replace(b'"T"', b'"U"'))
    assert ">U</a>" in _render_cards(changed, NO_WORDS)[1]
    with translation.override("zh-hans"):
        assert _render_cards(raws, NO_WORDS) is not english
    assert BookRecord(raws[0])["year"] == -1


def test_negative_years_are_shown_as_bc() -> None:
    assert (year(1999), year(0), year(-750)) == ("1999", "0", "750 BC")


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("eng", "English"),
        ("en-US", "English"),
        ("en", "English"),
        ("fre", "French"),
        ("mul", "Multiple languages"),
        ("fil", "Filipino"),
        ("xyz", "xyz"),
        ("", ""),
    ],
)
def test_languages_have_names(code: str, name: str) -> None:
    assert get_language_name(code) == name


def test_languages_are_named_in_the_readers_language() -> None:
    with translation.override("zh-hans"):
        assert get_language_name("eng") == "英语"
