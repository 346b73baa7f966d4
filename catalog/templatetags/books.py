"""How books are shown. What is made of a record is remembered by the record itself, so it is never stale."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlencode

import orjson
from django import template
from django.conf import settings
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext

from catalog import covers, describing, extras, query
from catalog.languages import language_name
from catalog.results import BookList, BookRecord
from catalog.series import split_title
from catalog.tags_shown import tags_shown
from catalog.volumes import find_places
from config.templatetags.site import visitor

register = template.Library()

TAGS: Final = 3  # on a card: of those that most readers gave
CARDS: Final = 4096  # remembered; each takes about 3 kB
PAGES: Final = 128  # of cards, remembered; each takes about 100 kB


@register.simple_tag
def cover(book: BookRecord) -> SafeString:
    """The cover of a book, with its first author."""
    authors = book["authors"]
    return covers.cover(book["id"], book["title"], authors[0] if authors else "")


@register.simple_tag
def description(book: BookRecord) -> str:
    """A book in a few sentences."""
    return describing.describe(book)


@register.simple_tag
def structured_data(book: BookRecord) -> SafeString:
    """A book as JSON-LD."""
    return describing.structured_data(book)


@register.simple_tag
def absolute(path: str) -> str:
    """An address of this site, with the site's own, as link previews need it."""
    return f"{settings.SITE_URL}{path}"


@register.filter
def short_title(book: Mapping[str, Any]) -> str:
    """The title without the series at its end."""
    return split_title(book["title"])[0]


@register.simple_tag
def series_line(book: Mapping[str, Any]) -> SafeString:
    """The series that a title names, as a line below it; nothing where there is none."""
    text = split_title(book["title"])[1]
    return format_html('<p class="card-series">{}</p>', text) if text else SafeString()


@register.inclusion_tag("catalog/_series.html")
def series_places(book: BookRecord) -> dict[str, Any]:
    """The book's places in its series, with links to the volumes next to it."""
    return {"places": find_places(book)}


@register.inclusion_tag("catalog/_tags.html", takes_context=True)
def book_tags(context: Context, book: BookRecord) -> dict[str, Any]:
    """The book's tags, with forms for who is logged in."""
    me = visitor(context)
    return {"request": context["request"], **tags_shown(book, me.pk if me else None)}


@register.filter
def authors_linked(book: Mapping[str, Any]) -> SafeString:
    """The authors' names, each leading to the author's page."""
    pairs = zip(book["author_ids"], book["authors"], strict=True)
    return format_html_join(", ", '<a href="/authors/{}/">{}</a>', pairs)


@register.filter
def year(value: int) -> str:
    """-750 -> "750 BC"."""
    return str(value) if value >= 0 else gettext("%(year)d BC") % {"year": -value}


register.filter("language", language_name)  # "language_name" is Django's own, and knows only its own codes


@register.simple_tag
@lru_cache(maxsize=CARDS)
def tag_link(name: str, css: str = "chip") -> SafeString:
    """A link to the books with a tag."""
    text = query.to_text(query.Tag(name))
    return format_html('<a class="{}" href="/books/?{}">{}</a>', css, urlencode({"q": text}), name)


@register.simple_tag
def filter_field(page: BookList, name: str, label: str, keyboard: str) -> SafeString:
    """The text field of a filter's parameter. keyboard: its ``inputmode``."""
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
    """What is wrong with a filter's parameter; nothing where nothing is."""
    message = page.chosen.errors.get(name)
    return format_html('<p class="errors" id="f-{}-error">{}</p>', name, message) if message else SafeString()


@register.simple_tag
def cards(page: BookList) -> list[SafeString]:
    """The cards of a page, one for each of its books."""
    words = tuple(extras.words_on_cards(page.beside)) or (SafeString(),) * len(page.books)
    return _cards(tuple(book.raw for book in page.books), words, get_language() or "")


@lru_cache(maxsize=PAGES)
def _cards(raws: tuple[bytes, ...], words: tuple[SafeString, ...], language: str) -> list[SafeString]:
    made = []
    for raw, more in zip(raws, words, strict=True):
        card, links = _card(raw, language)
        made.append(mark_safe(card + more + links))
    return made


@lru_cache(maxsize=CARDS)
def _card(raw: bytes, language: str) -> tuple[SafeString, str]:
    """What depends on nothing but the record (and the language, which is active): the card, and the tags below it."""
    book = orjson.loads(raw)
    links = "".join(tag_link(tag["name"], "tag") for tag in book["top_tags"][:TAGS])
    return render_to_string("catalog/_card.html", {"book": book}), links and f'<p class="card-tags">{links}</p>'
