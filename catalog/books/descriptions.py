"""Descriptions of books for search engines and link previews: a text, and structured data."""

from collections.abc import Mapping
from typing import Any, Final

import orjson
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from catalog.books.records import BookRecord
from catalog.books.series import Series, parse_series, split_title
from catalog.values.languages import normalise_code
from catalog.values.tag_labels import get_tag_label
from common.paths import make_path

# Browsers do not run a data block, but these characters could end it or begin another element.
HTML_ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04X}" for sign in "<>&"}
MAX_TAGS: Final = 5  # in a description


def describe_book(book: BookRecord) -> str:
    """Return a description of a book in a few sentences, in the active language."""
    title = split_title(book["title"])[0]
    parts = []
    if book["authors"]:
        by = {"title": title, "authors": ", ".join(book["authors"])}
        parts.append(gettext("%(title)s by %(authors)s.") % by)
    else:
        parts.append(f"{title}.")
    parts += [_describe_series(one) for one in parse_series(book["title"])]
    if book["rating"] is not None:
        parts.append(gettext("Rated %(rating)s out of 5.") % {"rating": f"{book['rating']:.2f}"})
    tags = _join_top_tags(book)
    if tags:
        parts.append(gettext("Tags: %(tags)s.") % {"tags": tags})
    return " ".join(parts)


def _describe_series(series: Series) -> str:
    return gettext("Book %(number)s of %(series)s.") % {"number": series.number, "series": series.name}


def build_book_url(book: BookRecord) -> str:
    """Return the absolute address of a book's page."""
    return f"{settings.SITE_URL}{make_path('catalog:book', book['id'])}"


def render_structured_data(book: BookRecord, offer: Mapping[str, str]) -> SafeString:
    """Return the book as a block of JSON-LD (https://schema.org/Book). offer: the properties of an Offer, or empty."""
    text = orjson.dumps(_build_schema_book(book, offer)).decode().translate(HTML_ESCAPES)
    return format_html('<script type="application/ld+json">{}</script>', mark_safe(text))


def _build_schema_book(book: BookRecord, offer: Mapping[str, str]) -> dict[str, Any]:
    year = book["year"]
    properties = {
        "@context": "https://schema.org",
        "@type": "Book",
        "@id": build_book_url(book),
        "url": build_book_url(book),
        "name": split_title(book["title"])[0],
        "author": _build_schema_authors(book),
        "alternateName": book["original_title"],
        "isbn": book["isbn"],
        "inLanguage": normalise_code(book["language"]),
        # ISO 8601 has years before 1 only by mutual agreement.
        "datePublished": f"{year:04}" if year is not None and year > 0 else "",
        "keywords": _join_top_tags(book),
        "isPartOf": [
            {"@type": "BookSeries", "name": one.name, "position": one.number} for one in parse_series(book["title"])
        ],
        "aggregateRating": _build_schema_rating(book),
        "offers": {**offer, "url": build_book_url(book)} if offer else {},
    }
    return {name: value for name, value in properties.items() if value}


def _build_schema_authors(book: BookRecord) -> list[dict[str, str]]:
    found = []
    for pk, name in zip(book["author_ids"], book["authors"], strict=True):
        url = f"{settings.SITE_URL}{make_path('author', pk)}"
        found.append({"@type": "Person", "name": name, "url": url})
    return found


def _build_schema_rating(book: BookRecord) -> dict[str, Any]:
    if book["rating"] is None or not book["popularity"]:
        return {}
    return {
        "@type": "AggregateRating",
        "ratingValue": book["rating"],
        "ratingCount": book["popularity"],
        "bestRating": 5,
        "worstRating": 1,
    }


def _join_top_tags(book: BookRecord) -> str:
    return ", ".join(get_tag_label(tag["name"]) for tag in book["top_tags"][:MAX_TAGS])
