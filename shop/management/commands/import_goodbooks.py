"""``manage.py import_goodbooks``: books, and a shop's history with them, from a folder in goodbooks-10k format."""

import time
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from accounts.models import User
from catalog.bulk import update_statistics
from catalog.importer.books import COLUMNS, Tally, import_books, imported
from catalog.importer.files import Table
from catalog.importer.tags import LINK_COLUMNS, TAG_COLUMNS, import_links, import_tags
from catalog.models import Author, Book, Tag
from mirror.management.base import FOUND, OK, ReportingCommand
from mirror.management.progress import Progress
from shop.importer import files
from shop.importer.history import Known, import_purchases, import_readers, import_views
from shop.importer.products import import_products
from shop.models import Order, OrderLine, Product, View

CATALOGUE: Final = ("books", "authors", "tags", "taggings")
HISTORY: Final = ("products", "readers", "views", "purchases")
FILLED: Final = (Book, Author, Tag, Book.authors.through, Book.tags.through, Product, User, View, Order, OrderLine)


class Command(ReportingCommand):
    help = (
        "Adds the books, authors and tags of books.csv, tags.csv and book_tags.csv in DIR, a product for each book, and"
        " the readers of to_read.csv and ratings.csv (either may be missing): what they want to read they looked at,"
        " and what they rated they bought, at times that are made up and always the same. Again: changes nothing;"
        " stopped half way: goes on. Exits with 1 when no book could be used."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="a folder in goodbooks-10k format")
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N books, and what concerns them")
        text = "books, authors and tags alone: no products, readers, views, purchases"
        parser.add_argument("--books-only", action="store_true", help=text)
        parser.add_argument("--json", action="store_true", help="report in JSON")

    def run(self, **options: Any) -> int:
        folder, limit = Path(options["folder"]), options["limit"]
        if limit is not None and limit < 1:
            raise ValueError("--limit has to be at least 1")
        began = time.monotonic()
        work = _Import(
            folder, limit, books_only=options["books_only"]
        )  # all files are looked at before anything is written
        with Progress(self.stderr, "read", work.totals()) as progress:
            work.catalogue(progress)
            if not options["books_only"]:
                work.history(progress)
        tally, seconds = work.tally, time.monotonic() - began
        if any(tally.added.values()):
            update_statistics(FILLED)
        kinds = CATALOGUE if options["books_only"] else CATALOGUE + HISTORY
        self.report(_as_dict(work, kinds, seconds), _lines(work, kinds, seconds), options["json"])
        return OK if tally.read["books"] else FOUND


class _Import:
    """The files of a folder, and what was done with them. Making one looks at all before anything is written."""

    def __init__(self, folder: Path, limit: int | None, *, books_only: bool) -> None:
        self.limit, self.tally = limit, Tally()
        self.books = Table(folder, "books.csv", COLUMNS)
        self.tags = Table(folder, "tags.csv", TAG_COLUMNS)
        self.links = Table(folder, "book_tags.csv", LINK_COLUMNS)
        self.views = None if books_only else files.table(folder, files.VIEWS)
        self.purchases = None if books_only else files.table(folder, files.PURCHASES)
        names = {files.VIEWS: self.views, files.PURCHASES: self.purchases}
        self.missing = [] if books_only else [name for name, table in names.items() if table is None]

    def totals(self) -> dict[str, int]:
        """About how many rows there are of each kind; those of history are read and written."""
        found = {"books": self.limit or self.books.lines(), "tags": self.tags.lines(), "taggings": self.links.lines()}
        found["products"] = found["books"]
        for kind, table in (("views", self.views), ("purchases", self.purchases)):
            if table is not None:
                found[kind] = table.lines()
        return found

    def catalogue(self, progress: Progress) -> None:
        """Books, authors, tags, and which book has which."""
        import_books(self.books, self.limit, self.tally, progress)
        numbers = import_tags(self.tags, self.tally, progress)
        import_links(self.links, numbers, self.tally, progress)

    def history(self, progress: Progress) -> None:
        """Products, readers, views, purchases."""
        tally, books = self.tally, imported(self.books, self.limit)
        import_products(books, tally, progress)
        found = {
            kind: files.read(table, kind, books, tally, progress) if table else files.Pairs()
            for kind, table in (("views", self.views), ("purchases", self.purchases))
        }
        readers = set().union(*(pairs.users() for pairs in found.values()))
        tally.read["readers"] = len(readers)
        users, tally.added["readers"] = import_readers(readers, partial(progress, "readers"))
        known = Known(users, books)
        for kind, write in (("views", import_views), ("purchases", import_purchases)):
            tally.added[kind] = write(found[kind], known, partial(progress, f"{kind} written"))


def _as_dict(work: _Import, kinds: tuple[str, ...], seconds: float) -> dict[str, Any]:
    return {
        "read": dict(work.tally.read),
        "added": {kind: work.tally.added[kind] for kind in kinds},
        "dirt": work.tally.dirt.as_dict(),
        "missing": work.missing,
        "seconds": round(seconds, 2),
    }


def _lines(work: _Import, kinds: tuple[str, ...], seconds: float) -> list[str]:
    tally = work.tally
    added = ", ".join(f"{tally.added[kind]} {kind}" for kind in kinds)
    merged = tally.read["tags merged"]
    lines = [
        f"added {added} in {seconds:.1f} s ({merged} tags were another in other letters)",
        f"dirt: {tally.dirt}" if tally.dirt.counts else "no dirt",
    ]
    return lines + [f"there is no {name}: nothing was made of it" for name in work.missing]
