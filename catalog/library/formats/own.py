"""The site's own export of a library as JSON (``catalog.library.export``), as rows of a table."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import orjson

from catalog.library.formats.details import OF_SHELF, write_details
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
        places = _find_places(found)
        rows = [_build_row(book, places.get(book.get("id"), {})) for book in _sort_books(found["books"], places)]
        return Export(rows, _read_details(found))
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


Places = dict[str, tuple[Any, int]]  # by names of lists: when a book was added, and its number in the reader's order


def _find_places(found: Mapping[str, Any]) -> dict[Any, Places]:
    """Return the places on lists of each book, by its id."""
    places: dict[Any, Places] = {}
    for one in found.get("lists", ()):
        name = " ".join(_remove_commas(str(one["name"])).split())
        for number, book in enumerate(one.get("books", ())):
            places.setdefault(book["id"], {})[name] = (book["added_on"], number)
    return places


def _sort_books(books: Iterable[Mapping[str, Any]], places: Mapping[Any, Places]) -> list[Mapping[str, Any]]:
    """Return the books in the order in which they were added to lists, in which they are added again."""

    def find_day(book: Mapping[str, Any]) -> str:
        return max((str(day) for day, _number in places.get(book.get("id"), {}).values()), default="")

    return sorted(books, key=find_day)


def _build_row(book: Mapping[str, Any], places: Places) -> dict[str, str]:
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
    progress: dict[str, Any] = {}
    for number, reading in enumerate(book["readings"]):
        # A book that the reader wants to read may have the progress of a reading that was broken off.
        is_of_shelf = number == 0 and (count > 0 or reading["state"] is None)
        for dates in [OF_SHELF] * is_of_shelf + list(_write_range(reading)):
            progress[dates] = reading.get("progress", ())
    add("Details", write_details(book.get("pages"), progress, places))
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
