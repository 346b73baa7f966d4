"""Books. HTML made of a record is remembered under the record itself, so it is never stale."""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final
from unicodedata import east_asian_width
from urllib.parse import urlencode

import orjson
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext
from jinja2 import pass_context
from jinja2.runtime import Context

from catalog import query
from catalog.books import descriptions, extras
from catalog.books.records import BookRecord
from catalog.books.series import split_title
from catalog.books.volumes import SeriesPlace, find_series_places
from catalog.covers.images import make_version
from catalog.covers.plans import read_cover_facts
from catalog.listing.results import BookList
from catalog.shelves.widgets import render_card_shelf
from catalog.tags.shown import list_tag_facts
from catalog.values.tag_labels import get_tag_label
from common.form_parts import render_for
from common.paths import make_path
from common.rendered import remember_rendered
from common.spacing import close_gaps, count_rest, names_comma
from common.template_functions import format_number, visitor

_COUNT: Final = ' <span class="count"><span class="sr-only">{} </span>{}</span>'
_NAME_AND_NUMBER: Final = re.compile(r"([^#;\s][^#;]*?)[,\s]*(#[0-9.–-]+)(?=\s*(?:;|$))")
MAX_NAMES: Final = 2  # authors that cards name
MAX_BYTES: Final = 12_000_000  # of each kind of remembered part; a card takes about 3 kB, a page of cards 100 kB


def cover_address(book: BookRecord) -> str:
    """Return the path of the cover as PNG, with its version."""
    version = make_version(read_cover_facts(book))
    return f"{reverse('catalog:cover', args=[book['id']])}?v={version}"


def description(book: BookRecord) -> str:
    """Return a description of a book in a few sentences."""
    return descriptions.describe_book(book)


def count_lines(text: str, columns: int) -> int:
    """Return about how many lines a text takes. Chinese characters take two columns."""
    lines = 0
    for line in text.splitlines():
        width = len(line)
        if not line.isascii():
            width += sum(east_asian_width(sign) in "WF" for sign in line)
        lines += max(1, math.ceil(width / columns))
    return lines


def structured_data(book: BookRecord, offer: Mapping[str, str]) -> SafeString:
    """Return a book as JSON-LD."""
    return descriptions.render_structured_data(book, offer)


def short_title(book: Mapping[str, Any]) -> str:
    """Return the title without the series at its end."""
    return split_title(book["title"])[0]


def series_line(book: Mapping[str, Any]) -> SafeString:
    """Return the series that a title names as a line of its own, or nothing.

    The number is before the name, because narrow cards cut the end.
    """
    text = _NAME_AND_NUMBER.sub(r"\2 \1", split_title(book["title"])[1])
    return format_html('<p class="card-series" dir="auto">{}</p>', text) if text else SafeString()


def series_places(book: BookRecord) -> SafeString:
    """Show the book's places in its series, with links to the volumes before and after it."""
    return render_to_string("catalog/_series.html", {"places": find_series_places(book)})


def series_link(place: SeriesPlace) -> SafeString:
    """Return the name of a series as a link to its page, or as text if no author is known."""
    name = place.series.name
    if place.author is None:
        return format_html("<bdi>{}</bdi>", name)
    address = make_path("catalog:series", place.author, place.series.normalised_name)
    return format_html('<a href="{}"><bdi>{}</bdi></a>', address, name)


@pass_context
def book_tags(context: Context, book: BookRecord) -> SafeString:
    """Show the book's tags, with forms for logged-in readers."""
    me = visitor(context)
    facts = list_tag_facts(book, me.pk if me else None)
    return render_for(context["request"], "catalog/_tags.html", facts)


def authors_linked(book: Mapping[str, Any]) -> SafeString:
    """Return the authors' names with links to their pages."""
    return link_authors(book["author_ids"], book["authors"])


def first_author(book: Mapping[str, Any], known: int = 0) -> SafeString:
    """Return the names of one or two authors with links, and of more the first with the number of others.

    known: the author of the page, left out: "with" the others; nothing if there are none.
    """
    if known:
        others = [(pk, name) for pk, name in zip(book["author_ids"], book["authors"], strict=True) if pk != known]
        if not others:
            return SafeString()
        ids, names = zip(*others, strict=True)
        return format_html(gettext("with {names}"), names=first_author({"author_ids": ids, "authors": names}))
    ids, names = book["author_ids"], book["authors"]
    if len(names) <= MAX_NAMES:
        return link_authors(ids, names)
    text = ngettext("{author} and {n} other", "{author} and {n} others", len(names) - 1)
    named = format_html(text, author=link_authors(ids[:1], names[:1]), n=count_rest(len(names)))
    return mark_safe(close_gaps(named))


def author_and_count(book: Mapping[str, Any]) -> SafeString:
    """Return the name of the first author with a link, and the number of others with their names as a tooltip."""
    ids, names = book["author_ids"], book["authors"]
    first, others = link_authors(ids[:1], names[:1]), names_comma().join(names[1:])
    if not others:
        return first
    count = '{}\N{NO-BREAK SPACE}<span title="{}" aria-hidden="true">+{}</span><span class="sr-only">{}{}</span>'
    return format_html(count, first, others, len(names) - 1, names_comma(), others)


def title_link(book: Mapping[str, Any]) -> SafeString:
    """Return the title as a link to the page of the book. Cards show two lines of it, and all of it as a tooltip."""
    return format_html('<a href="{0}" title="{1}">{1}</a>', make_path("catalog:book", book["id"]), short_title(book))


def link_authors(ids: Iterable[int], names: Iterable[str]) -> SafeString:
    """Return names with links to the pages of authors."""
    links = [(make_path("author", pk), name) for pk, name in zip(ids, names, strict=True)]
    return format_html_join(names_comma(), '<a href="{}"><bdi>{}</bdi></a>', links)


def year(value: int) -> str:
    """Return the text of a year: -750 -> "750 BC"."""
    return str(value) if value >= 0 else gettext("%(year)d BC") % {"year": -value}


@remember_rendered(MAX_BYTES)
def tag_link(name: str, css: str = "chip", readers: int | None = None) -> SafeString:
    """Return a link to the books with a tag. readers: the number of those who gave it to a book, shown in the chip."""
    given = urlencode({"q": query.format_query(query.Tag(name))})
    shown = "" if readers is None else format_html(_COUNT, gettext("Readers:"), format_number(readers, "0g"))
    return format_html(
        '<a class="{}" href="{}?{}">{}{}</a>', css, make_path("catalog:list"), given, get_tag_label(name), shown
    )


def filter_field(page: BookList, name: str, label: str, keyboard: str, unit: str) -> SafeString:
    """Return the text field of a filter's parameter. keyboard: its ``inputmode``. unit: shown while it is empty."""
    return format_html(
        '<label for="f-{0}">{1}</label><input class="input" id="f-{0}" name="{0}" value="{2}" inputmode="{3}" '
        'placeholder="{6}" autocomplete="off"{4}>{5}',
        name,
        label,
        page.chosen.given.get(name, ""),
        keyboard,
        format_html(' aria-invalid="true" aria-describedby="f-{}-error"', name) if name in page.chosen.errors else "",
        filter_error(page, name),
        unit,
    )


def filter_error(page: BookList, name: str) -> SafeString:
    """Return the error message for a filter's parameter, or nothing."""
    message = page.chosen.errors.get(name)
    return format_html('<p class="errors" id="f-{}-error">{}</p>', name, message) if message else SafeString()


def cards(page: BookList, author: int = 0) -> list[SafeString]:
    """Return the cards of a page, one for each of its books. Only the visitor's shelves differ between visitors.

    author: whose page it is, if it is one.
    """
    words = tuple(extras.render_card_extras(page.card_values))
    if not words:
        words = (SafeString(),) * len(page.books)
    raws = tuple(book.raw for book in page.books)
    shared = _render_cards(raws, words, author)
    if page.entries is None:
        return shared
    made = []
    for card, raw, entry in zip(shared, raws, page.entries, strict=True):
        shelf = str(entry["shelf"]) if entry else ""
        made.append(mark_safe(card + _render_shelf(raw, shelf)))
    return made


@remember_rendered(MAX_BYTES)
def _render_shelf(raw: bytes, shelf: str) -> SafeString:
    """Return the shelf button of a card, or the shelf of the book."""
    book = orjson.loads(raw)
    return render_card_shelf(book["id"], book["title"], {"shelf": shelf} if shelf else None, is_anchor=True)


@remember_rendered(MAX_BYTES, measure=lambda made: sum(map(len, made)))
def _render_cards(raws: tuple[bytes, ...], words: tuple[SafeString, ...], author: int = 0) -> list[SafeString]:
    return [mark_safe(f"{_render_card(raw, author)}{more}</div>") for raw, more in zip(raws, words, strict=True)]


@remember_rendered(MAX_BYTES)
def _render_card(raw: bytes, author: int) -> SafeString:
    return render_to_string("catalog/_card.html", {"book": orjson.loads(raw), "author": author})
