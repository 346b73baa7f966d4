"""``manage.py import_goodbooks``: books, authors and tags from a folder in goodbooks-10k format."""

import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from catalog.bulk import update_statistics
from catalog.importer.books import COLUMNS, Tally, import_books
from catalog.importer.files import Table
from catalog.importer.tags import LINK_COLUMNS, TAG_COLUMNS, import_links, import_tags
from catalog.models import Author, Book, Tag
from mirror.management.base import FOUND, OK, ReportingCommand
from mirror.management.progress import Progress

KINDS = ("books", "authors", "tags", "taggings")


class Command(ReportingCommand):
    help = (
        "Adds the books, authors and tags of books.csv, tags.csv and book_tags.csv in DIR. "
        "Again: changes nothing; stopped half way: goes on. Exits with 1 when no book could be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="a folder in goodbooks-10k format")
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N books")
        parser.add_argument("--json", action="store_true", help="report in JSON")

    def run(self, **options: Any) -> int:
        folder, limit = Path(options["folder"]), options["limit"]
        if limit is not None and limit < 1:
            raise ValueError("--limit has to be at least 1")
        began, tally = time.monotonic(), Tally()
        # All three are looked at before anything is written.
        books = Table(folder, "books.csv", COLUMNS)
        tags = Table(folder, "tags.csv", TAG_COLUMNS)
        links = Table(folder, "book_tags.csv", LINK_COLUMNS)
        totals = {"books": limit or books.lines(), "tags": tags.lines(), "taggings": links.lines()}
        with Progress(self.stderr, "read", totals) as progress:
            import_books(books, limit, tally, progress)
            numbers = import_tags(tags, tally, progress)
            import_links(links, numbers, tally, progress)
        if any(tally.added.values()):
            update_statistics([Book, Author, Tag, Book.authors.through, Book.tags.through])
        seconds = time.monotonic() - began
        self.report(_as_dict(tally, seconds), _lines(tally, seconds), options["json"])
        return OK if tally.read["books"] else FOUND


def _as_dict(tally: Tally, seconds: float) -> dict[str, Any]:
    return {
        "read": dict(tally.read),
        "added": {kind: tally.added[kind] for kind in KINDS},
        "dirt": tally.dirt.as_dict(),
        "seconds": round(seconds, 2),
    }


def _lines(tally: Tally, seconds: float) -> list[str]:
    added = ", ".join(f"{tally.added[kind]} {kind}" for kind in KINDS)
    merged = tally.read["tags merged"]
    return [
        f"added {added} in {seconds:.1f} s ({merged} tags were another in other letters)",
        f"dirt: {tally.dirt}" if tally.dirt.counts else "no dirt",
    ]
