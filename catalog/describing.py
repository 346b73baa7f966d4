"""Descriptions of books for search engines and link previews: a text, and structured data."""

from typing import Any, Final

import orjson
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from catalog.languages import main_code
from catalog.results import BookRecord
from catalog.series import series_in, split_title

# Browsers do not run a data block, but these characters could end it or begin another element.
ESCAPES: Final = {ord(sign): f"\\u{ord(sign):04X}" for sign in "<>&"}
TAGS: Final = 5  # in a description


def describe(book: BookRecord) -> str:
    """Return a description of a book in a few sentences, in the active language."""
    title = split_title(book["title"])[0]
    by = {"title": title, "authors": ", ".join(book["authors"])}
    parts = [gettext("%(title)s by %(authors)s.") % by if book["authors"] else f"{title}."]
    parts += [
        gettext("Book %(number)s of %(series)s.") % {"number": one.number, "series": one.name}
        for one in series_in(book["title"])
    ]
    if book["rating"] is not None:
        parts.append(gettext("Rated %(rating)s out of 5.") % {"rating": f"{book['rating']:.2f}"})
    if tags := _tags(book):
        parts.append(gettext("Tags: %(tags)s.") % {"tags": tags})
    return " ".join(parts)


def link_of(book: BookRecord) -> str:
    """Return the absolute address of a book's page."""
    return f"{settings.SITE_URL}/books/{book['id']}/"


def structured_data(book: BookRecord) -> SafeString:
    """Return the book as a block of JSON-LD (https://schema.org/Book)."""
    text = orjson.dumps(_as_thing(book)).decode().translate(ESCAPES)
    return format_html('<script type="application/ld+json">{}</script>', mark_safe(text))


def _as_thing(book: BookRecord) -> dict[str, Any]:
    authors = zip(book["author_ids"], book["authors"], strict=True)
    year = book["year"]
    thing = {
        "@context": "https://schema.org",
        "@type": "Book",
        "@id": link_of(book),
        "url": link_of(book),
        "name": split_title(book["title"])[0],
        "author": [
            {"@type": "Person", "name": name, "url": f"{settings.SITE_URL}/authors/{pk}/"} for pk, name in authors
        ],
        "isbn": book["isbn"],
        "inLanguage": main_code(book["language"]),
        "datePublished": f"{year:04}" if year is not None and year > 0 else "",
        "keywords": _tags(book),
        "isPartOf": [
            {"@type": "BookSeries", "name": one.name, "position": one.number} for one in series_in(book["title"])
        ],
        "aggregateRating": _rating(book),
    }
    return {name: value for name, value in thing.items() if value}


def _rating(book: BookRecord) -> dict[str, Any]:
    if book["rating"] is None or not book["popularity"]:
        return {}
    return {
        "@type": "AggregateRating",
        "ratingValue": book["rating"],
        "ratingCount": book["popularity"],
        "bestRating": 5,
        "worstRating": 1,
    }


def _tags(book: BookRecord) -> str:
    return ", ".join(tag["name"] for tag in book["top_tags"][:TAGS])
