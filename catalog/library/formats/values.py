"""Values of cells: dates, ranges of dates, stars, ISBNs and reviews."""

import html
import re
from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Final, NamedTuple

from catalog.values.isbns import find_isbns

FIRST_YEAR: Final = 1000
FIRST_SHORT_YEAR: Final = 1930  # spreadsheets read years of two digits as those from this one on
_DAY: Final = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?")
_AMERICAN: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4}|\d{2})")
_DAY_FIRST: Final = re.compile(r"(\d{1,2})[.-](\d{1,2})[.-](\d{4}|(?<=\.)\d{2})")
_YEAR: Final = re.compile(r"\d{4}")
_NAMED: Final = re.compile(r"(?:(\d{1,2})\s+)?([A-Za-z]{3})[a-z]*\.?(?:\s+(\d{1,2}),?)?\s+(\d{4})")
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_BREAK: Final = re.compile(r"<br\s*/?>|</(p|div)>\s*<\1\b[^<>]*>|</?(?:p|div|h[1-6])\b[^<>]*>", re.IGNORECASE)
_ITEM: Final = re.compile(r"<li\b[^<>]*>\s*", re.IGNORECASE)
_LIST: Final = re.compile(r"</?[uo]l\b[^<>]*>\s*", re.IGNORECASE)
_SPOILER: Final = re.compile(r"<spoiler>|</spoiler>|\[/?spoiler\]", re.IGNORECASE)
_EMPHASIS: Final = {"b": "**", "strong": "**", "i": "*", "em": "*"}
# Markdown has no emphasis that ends after a blank, or between a sign and a letter.
_WORDS: Final = re.compile(r"^([^\w<>\n]*)([\w<>](?:.*[\w<>])?)", re.MULTILINE)
_LINE: Final = re.compile(r"^", re.MULTILINE)
_ADDRESS: Final = re.compile(r"\shref=[\"']?([^\"'\s]+)", re.IGNORECASE)
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>")


class ImportedDate(NamedTuple):
    """A date, or the last day of a year of which nothing more is known."""

    day: date
    is_year: bool = False


def parse_date(text: str) -> ImportedDate | None:
    """Return the date in a cell, or None. A month without a day counts as its year.

    >>> parse_date("[2016-05-08]").day
    datetime.date(2016, 5, 8)
    """
    text = text.strip().strip("[]").strip()
    if _YEAR.fullmatch(text):
        return _make_year(int(text))
    if found := _DAY.match(text):
        year, month, day = (int(part) if part else 0 for part in found.groups())
        return _make_date(year, month, day)
    if found := _DAY_FIRST.fullmatch(text):
        day, month, year = map(int, found.groups())
        return _make_date(_complete_year(year), month, day)
    if found := _AMERICAN.fullmatch(text):
        month, day, year = map(int, found.groups())
        return _make_date(_complete_year(year), month, day)
    if found := _NAMED.fullmatch(text):
        before, name, after, written = found.groups()
        month = _MONTHS.index(name.lower()) + 1 if name.lower() in _MONTHS else 0
        return _make_date(int(written), month, int(before or after or 0))
    return None


def is_day_first(text: str) -> bool:
    """Return whether a date with slashes has no month in the first place, where Americans write it."""
    found = _AMERICAN.fullmatch(text)
    return found is not None and int(found[1]) > 12


def write_day_first(text: str) -> str:
    """Return a date with slashes as one that ``parse_date`` reads with the day first, and any other text as it is."""
    found = _AMERICAN.fullmatch(text)
    return ".".join(found.groups()) if found else text


def _complete_year(year: int) -> int:
    return year if year > 99 else FIRST_SHORT_YEAR + (year - FIRST_SHORT_YEAR) % 100


def _make_date(year: int, month: int, day: int) -> ImportedDate | None:
    if not day:
        return _make_year(year)
    try:
        return ImportedDate(date(year, month, day)) if year >= FIRST_YEAR else None
    except ValueError:
        return None


def _make_year(year: int) -> ImportedDate | None:
    return ImportedDate(date(year, 12, 31), is_year=True) if year >= FIRST_YEAR else None


def parse_ranges(text: str) -> list[tuple[ImportedDate | None, ImportedDate | None]]:
    """Return the starts and ends in a list like "2020/01/02-2020/02/03, 2021/04/05". One date alone is an end."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        # Only StoryGraph writes ranges, with slashes in their dates.
        start, dash, end = part.partition("-") if "/" in part else ("", "", part)
        ends = (parse_date(start), parse_date(end)) if dash else (None, parse_date(start or end))
        if any(ends):
            found.append(ends)
    return found


def parse_stars(text: str) -> tuple[int | None, bool]:
    """Return a rating in halves of a star, and whether it was rounded. No stars or 0 mean no rating.

    >>> parse_stars("4.25"), parse_stars("3,5"), parse_stars("0")
    ((9, True), (7, False), (None, False))
    """
    try:
        stars = float(text.replace(",", "."))
    except ValueError:
        return None, False
    if not 0 < stars <= 5:
        return None, False
    # A quarter is rounded up, so that no rating vanishes.
    halves = max(1, int(stars * 2 + 0.5))
    return halves, halves != stars * 2


def parse_isbn_cell(text: str) -> list[str]:
    """Return the ISBNs in a cell such as ="0061120081" or [0061120081], each as thirteen digits."""
    return find_isbns(text.replace('"', " ").replace("=", " "))


def convert_review(text: str, *, is_spoiler: bool = False) -> str:
    """Return a review as Markdown: Goodreads and LibraryThing write HTML. Unknown elements are left out.

    >>> convert_review("A <b>good</b> one.<br/><br/>Read &amp; reread.")
    'A **good** one.\\n\\nRead & reread.'
    """
    text = _LIST.sub("\n\n", _ITEM.sub("\n- ", _BREAK.sub("\n", text)))
    text = _replace_element(_SPOILER.sub("||", text), "a", _write_link)
    for name, mark in _EMPHASIS.items():
        text = _replace_element(text, name, partial(_emphasize, mark))
    text = _replace_element(text, "blockquote", _write_quote)
    text = html.unescape(_TAG.sub("", text)).strip()
    if is_spoiler and text and "||" not in text:
        # A spoiler ends with its paragraph.
        return "\n".join(f"||{line.strip()}||" if line.strip() else "" for line in text.split("\n"))
    return text


def _replace_element(text: str, name: str, replace: Callable[[str, str], str]) -> str:
    """Replace the elements with this name by what ``replace`` returns for their attributes and their content."""
    # Neither a tag nor the content has a further tag of this name, so no text takes more than linear time.
    pattern = rf"<{name}\b([^<>]*)>([^<]*(?:<(?!/?{name}\b)[^<]*)*)</{name}>"
    return re.sub(pattern, lambda found: replace(found[1], found[2]), text, flags=re.IGNORECASE)


def _emphasize(mark: str, _: str, words: str) -> str:
    return _WORDS.sub(rf"\1{mark}\2{mark}", words)


def _write_link(attributes: str, words: str) -> str:
    address = _ADDRESS.search(attributes)
    return f"[{words}]({address[1]})" if address else words


def _write_quote(_: str, words: str) -> str:
    return f"\n{_LINE.sub('> ', words.strip())}\n\n"
