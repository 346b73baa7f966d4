"""The site's own export of a library as JSON (``catalog.library.export``), as rows of a table."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from catalog.library.formats.services import WANT


def read_export(text: str) -> list[dict[str, str]] | None:
    """Return a row for each book, with the columns of the service "diptych"; None for any other text."""
    try:
        return list(map(_build_row, orjson.loads(text)["books"]))
    # The file may be anything.
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def _build_row(book: Mapping[str, Any]) -> dict[str, str]:
    row: dict[str, str] = {}

    def add(column: str, value: Any) -> None:
        if value:
            # PostgreSQL stores no NUL.
            row[column] = str(value).replace("\0", "")

    add("Title", book["title"])
    add("Authors", "; ".join(book["authors"]))
    add("ISBN", book["isbn"])
    add("Shelf", book["shelf"])
    add("Rating", book["rating"])
    add("Date Added", book["shelved_on"])
    add("Review", book["review"])
    # Commas separate the names of lists.
    add("Lists", ", ".join(map(_remove_commas, book["lists"])))
    # The first reading is that of the shelf. It counts also if the reader gave the book up.
    count = int(book["shelf"] not in ("", WANT))
    states = list(map(_get_state, book["readings"]))
    add("Read Count", count + states[count:].count("finished"))
    ranges: dict[bool, list[str]] = {True: [], False: []}
    for reading in book["readings"]:
        ranges[reading["state"] == "abandoned"] += _write_range(reading)
    add("Dates Given Up", ", ".join(ranges[True]))
    add("Dates Read", ", ".join(ranges[False]))
    return row


def _remove_commas(name: str) -> str:
    return name.replace(",", " ")


def _get_state(reading: Mapping[str, Any]) -> Any:
    return reading["state"]


def _write_range(reading: Mapping[str, Any]) -> Iterable[str]:
    """Yield the dates of a reading as The StoryGraph writes them: "2020/01/02-2020/02/03", or "2021/04/05"."""
    start = (reading["started_on"] or "").replace("-", "/")
    end = (reading["finished_on"] or "").replace("-", "/")
    if start:
        yield f"{start}-{end}"
    elif end:
        yield end
