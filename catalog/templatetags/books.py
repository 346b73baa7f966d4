"""Template tags for books. HTML made of a record is cached under the record itself, so it is never stale."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from django import template
from django.conf import settings
from django.template.context import Context
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from catalog import query
from catalog.books import cover_images, covers, descriptions, extras
from catalog.books.languages import get_language_name
from catalog.books.records import BookRecord
from catalog.books.series import split_title
from catalog.books.volumes import find_series_places
from catalog.listing.results import BookList
from catalog.shelves.widgets import render_card_shelf
from catalog.tags.shown import build_tags_context
from common.paths import make_path
from common.templatetags.site import visitor

register = template.Library()

MAX_CARD_TAGS: Final = 3  # the most frequent tags, on a card
MAX_CACHED_CARDS: Final = 4096  # in the cache; each takes about 3 kB
MAX_CACHED_PAGES: Final = 128  # of cards in the cache; each takes about 100 kB


@register.simple_tag
def cover(book: BookRecord) -> SafeString:
    """Return the cover of a book, with its first author."""
    authors = book["authors"]
    return covers.draw_cover(book["id"], book["title"], authors[0] if authors else "")


@register.simple_tag
def cover_address(book: BookRecord) -> str:
    """Return the path of the cover as PNG, with its version."""
    authors = book["authors"]
    version = cover_images.make_version(book["title"], authors[0] if authors else "")
    return f"{reverse('catalog:cover', args=[book['id']])}?v={version}"


@register.simple_tag
def description(book: BookRecord) -> str:
    """Return a description of a book in a few sentences."""
    return descriptions.describe_book(book)


@register.simple_tag
def structured_data(book: BookRecord) -> SafeString:
    """Return a book as JSON-LD."""
    return descriptions.render_structured_data(book)


@register.simple_tag
def absolute(path: str) -> str:
    """Return the absolute address of a path of this site, for link previews."""
    return f"{settings.SITE_URL}{path}"


@register.filter
def short_title(book: Mapping[str, Any]) -> str:
    """Return the title without the series at its end."""
    return split_title(book["title"])[0]


@register.simple_tag
def series_line(book: Mapping[str, Any]) -> SafeString:
    """Return the series that a title names as a line of its own, or nothing."""
    text = split_title(book["title"])[1]
    return format_html('<p class="card-series" dir="auto">{}</p>', text) if text else SafeString()


@register.inclusion_tag("catalog/_series.html")
def series_places(book: BookRecord) -> dict[str, Any]:
    """Show the book's places in its series, with links to the volumes before and after it."""
    return {"places": find_series_places(book)}


@register.inclusion_tag("catalog/_tags.html", takes_context=True)
def book_tags(context: Context, book: BookRecord) -> dict[str, Any]:
    """Show the book's tags, with forms for logged-in readers."""
    me = visitor(context)
    return {"request": context["request"], **build_tags_context(book, me.pk if me else None)}


@register.filter
def authors_linked(book: Mapping[str, Any]) -> SafeString:
    """Return the authors' names with links to their pages."""
    authors = zip(book["author_ids"], book["authors"], strict=True)
    links = ((make_path("author", pk), name) for pk, name in authors)
    return format_html_join(", ", '<a href="{}"><bdi>{}</bdi></a>', links)


@register.filter
def year(value: int) -> str:
    """Return the text of a year: -750 -> "750 BC"."""
    return str(value) if value >= 0 else gettext("%(year)d BC") % {"year": -value}


register.filter("language", get_language_name)  # Django's own filter "language_name" knows only the codes of Django


@register.simple_tag
@lru_cache(maxsize=MAX_CACHED_CARDS)
def tag_link(name: str, css: str = "chip") -> SafeString:
    """Return a link to the books with a tag."""
    given = urlencode({"q": query.format_query(query.Tag(name))})
    return format_html('<a class="{}" href="{}?{}">{}</a>', css, make_path("catalog:list"), given, name)


@register.simple_tag
def filter_field(page: BookList, name: str, label: str, keyboard: str) -> SafeString:
    """Return the text field of a filter's parameter. keyboard: its ``inputmode``."""
    return format_html(
        '<label for="f-{0}">{1}</label><input class="input" id="f-{0}" name="{0}" value="{2}" inputmode="{3}" '
        'autocomplete="off"{4}>{5}',
        name,
        label,
        page.chosen.given.get(name, ""),
        keyboard,
        format_html(' aria-invalid="true" aria-describedby="f-{}-error"', name) if name in page.chosen.errors else "",
        filter_error(page, name),
    )


@register.simple_tag
def filter_error(page: BookList, name: str) -> SafeString:
    """Return the error message for a filter's parameter, or nothing."""
    message = page.chosen.errors.get(name)
    return format_html('<p class="errors" id="f-{}-error">{}</p>', name, message) if message else SafeString()


@register.simple_tag
def cards(page: BookList) -> list[SafeString]:
    """Return the cards of a page, one for each of its books. Only the visitor's shelves differ between visitors."""
    words = tuple(extras.render_card_extras(page.card_values))
    if not words:
        words = (SafeString(),) * len(page.books)
    raws = tuple(book.raw for book in page.books)
    language = get_language() or ""
    shared = _render_cards(raws, words, language)
    if page.entries is None:
        return shared
    made = []
    for card, raw, entry in zip(shared, raws, page.entries, strict=True):
        shelf = str(entry["shelf"]) if entry else ""
        made.append(mark_safe(card + _render_shelf(raw, shelf, language)))
    return made


@lru_cache(maxsize=MAX_CACHED_CARDS)
def _render_shelf(raw: bytes, shelf: str, language: str) -> SafeString:
    """Return the shelf button of a card, or the shelf of the book. ``language`` must be the active language."""
    book = orjson.loads(raw)
    return render_card_shelf(book["id"], book["title"], {"shelf": shelf} if shelf else None, is_anchor=True)


@lru_cache(maxsize=MAX_CACHED_PAGES)
def _render_cards(raws: tuple[bytes, ...], words: tuple[SafeString, ...], language: str) -> list[SafeString]:
    made = []
    for raw, more in zip(raws, words, strict=True):
        card, links = _render_card(raw, language)
        made.append(mark_safe(card + more + links))
    return made


@lru_cache(maxsize=MAX_CACHED_CARDS)
def _render_card(raw: bytes, language: str) -> tuple[SafeString, str]:
    """Return the card and the tags below it, which depend only on the record and the active language."""
    book = orjson.loads(raw)
    links = "".join(tag_link(tag["name"], "tag") for tag in book["top_tags"][:MAX_CARD_TAGS])
    return render_to_string("catalog/_card.html", {"book": book}), links and f'<p class="card-tags">{links}</p>'
