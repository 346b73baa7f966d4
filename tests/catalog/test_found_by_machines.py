"""Data for search engines and link previews: descriptions, structured data, robots.txt, the sitemap, icons."""

import re
from html import unescape
from typing import Any

import orjson
import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from pytest_django.fixtures import Settings

from catalog import sitemaps
from catalog.models import Author, Book
from config import pages
from mirror.redis.recorder import record
from tests.support.catalog.make import make_book

pytestmark = pytest.mark.django_db
ATTACK = '</script><script>alert("1")</script>&<!--'


def _meta(html: str, name: str) -> str:
    found = re.search(rf'<meta (?:name|property)="{name}" content="([^"]*)">', html)
    assert found is not None, name
    return unescape(found[1])


def _data(html: str) -> dict[str, Any]:
    blocks = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL)
    assert len(blocks) == 1
    found: dict[str, Any] = orjson.loads(blocks[0])
    return found


def test_a_book_page_describes_the_book(client: Client, settings: Settings) -> None:
    book = make_book(
        "Salt (Roads, #2)", tags="fantasy sea", authors="Ann,Bob", year=1999, rating="4.25", popularity=7,
        language="eng", isbn="9780439023481",
    )  # fmt: skip
    html = client.get(f"/books/{book.pk}/").content.decode()
    said = "Salt by Ann, Bob. Book 2 of Roads. Rated 4.25 out of 5. Tags: fantasy, sea."
    address = f"{settings.SITE_URL}/books/{book.pk}/"
    assert _meta(html, "description") == _meta(html, "og:description") == said
    assert (_meta(html, "og:title"), _meta(html, "og:url")) == ("Salt", address)
    assert _meta(html, "og:image").startswith(f"{address}cover.png?v=")
    assert _meta(html, "og:image:alt") == "Cover of Salt"
    assert f'<link rel="canonical" href="{address}">' in html
    ann = Author.objects.get(name="Ann")
    thing = _data(html)
    assert thing["author"][0] == {"@type": "Person", "name": "Ann", "url": f"{settings.SITE_URL}/authors/{ann.pk}/"}
    expected = {
        "@type": "Book", "name": "Salt", "url": address, "isbn": "9780439023481", "inLanguage": "en",
        "datePublished": "1999", "isPartOf": [{"@type": "BookSeries", "name": "Roads", "position": "2"}],
    }  # fmt: skip
    assert thing.items() >= expected.items()
    assert (thing["aggregateRating"]["ratingValue"], thing["aggregateRating"]["ratingCount"]) == (4.25, 7)


def test_unknown_properties_are_left_out(client: Client) -> None:
    html = client.get(f"/books/{make_book('Salt', year=-300).pk}/").content.decode()
    assert _meta(html, "description") == "Salt."
    assert _data(html).keys() == {"@context", "@type", "@id", "url", "name"}


def test_no_text_can_end_the_data_block(client: Client) -> None:
    book = make_book(ATTACK, tags="</script>", authors=ATTACK)
    html = client.get(f"/books/{book.pk}/").content.decode()
    assert "<script>alert" not in html
    assert _data(html)["name"] == _data(html)["author"][0]["name"] == ATTACK
    assert ATTACK in _meta(html, "description")


def test_robots_txt_excludes_personal_pages(client: Client, settings: Settings) -> None:
    response = client.get("/robots.txt")
    lines = response.content.decode().splitlines()
    assert response.headers["Content-Type"].startswith("text/plain")
    assert lines[0] == "User-agent: *"
    assert {"Disallow: /accounts/", "Disallow: /search/"} <= set(lines)
    assert f"Sitemap: {settings.SITE_URL}/sitemap.xml" in lines
    left_alone = tuple(line.removeprefix("Disallow: ") for line in lines if line.startswith("Disallow: "))
    assert not any(path.startswith(left_alone) for path in ("/", "/books/", "/books/1/", "/authors/1/", "/shop/sale/"))


def _addresses(client: Client, path: str) -> list[str]:
    response = client.get(path)
    assert response.status_code == 200
    return re.findall("<loc>(.*?)</loc>", response.content.decode())


def test_the_sitemap_lists_every_book_and_author_by_ranges_of_ids(
    client: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    books = [make_book(authors=f"Author {n}") for n in range(5)]
    monkeypatch.setattr(sitemaps, "IDS_PER_FILE", max(1, books[-1].pk // 2))
    Book.objects.filter(pk=books[2].pk).delete()
    files = [address.removeprefix("http://testserver") for address in _addresses(client, "/sitemap.xml")]
    assert len([file for file in files if "books" in file]) >= 2
    with record() as seen:
        found = [address for file in files for address in _addresses(client, file)]
    assert len(found) == len(set(found))
    wanted = {f"/books/{book.pk}/" for book in Book.objects.all()} | {f"/authors/{a.pk}/" for a in Author.objects.all()}
    wanted |= {"/", "/books/", *(f"/{name}/" for name in pages.NAMES)}
    assert {f"{settings.SITE_URL}{path}" for path in wanted} <= set(found)
    assert f"{settings.SITE_URL}/books/{books[2].pk}/" not in found
    assert not any("OFFSET" in sql.upper() for sql, _ in seen.sql)


@pytest.mark.parametrize("path", ["/sitemap-books.xml?p=0", "/sitemap-books.xml?p=x", "/sitemap-nothing.xml"])
def test_an_unknown_sitemap_file_is_404(client: Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_icons_exist(client: Client) -> None:
    html = client.get("/accounts/login/").content.decode()
    for name in ("favicon.ico", "apple-touch-icon.png"):
        assert finders.find(name)
        assert f'href="/static/{name.partition(".")[0]}' in html
    assert client.get("/favicon.ico").headers["Location"].startswith("/static/favicon")
