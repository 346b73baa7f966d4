"""The site's own export of a library as JSON (``catalog.library.export``), as rows of a table."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from catalog.library.formats.services import WANT
from catalog.lists.models import MAX_DESCRIPTION_LENGTH, MAX_LISTS, MAX_NAME_LENGTH, Order
from catalog.shelves.models import Privacy, Shelf
from common.text import remove_invisible


class Export(NamedTuple):
    """The books as rows with the columns of the service "diptych", and what the file tells of shelves and lists.

    details: ``shelves`` (privacy by name) and ``lists`` (the fields of each by name).
    """

    rows: list[dict[str, str]]
    details: dict[str, Any]


def read_export(text: str) -> Export | None:
    """Return what an export has; None for any other text."""
    try:
        found = orjson.loads(text)
        return Export(list(map(_build_row, found["books"])), _read_details(found))
    # The file may be anything.
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def _read_details(found: Mapping[str, Any]) -> dict[str, Any]:
    shelves, lists = {}, {}
    for one in found.get("shelves", ()):
        if one["name"] in Shelf.values:
            shelves[one["name"]] = _choose(one["privacy"], Privacy)
    for one in found.get("lists", ())[:MAX_LISTS]:
        name = _read_text(" ".join(str(one["name"]).split()), MAX_NAME_LENGTH)
        lists[name] = {
            "name": name,
            "description": _read_text(one["description"], MAX_DESCRIPTION_LENGTH),
            "privacy": _choose(one["privacy"], Privacy),
            "order": _choose(one["order"], Order),
        }
    lists.pop("", None)
    return {"shelves": shelves, "lists": lists}


def _choose(value: Any, choices: type[Privacy | Order]) -> str:
    """Return the value, or for an unknown one the last of the choices, which shows the least."""
    return str(value if value in choices.values else choices.values[-1])


def _read_text(value: Any, limit: int) -> str:
    """Return a text without invisible characters, as the form of a list leaves it."""
    return remove_invisible(str(value)).strip()[:limit]


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
