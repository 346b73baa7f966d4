"""``manage.py import_goodbooks``: import books and a made-up shop history from a folder in goodbooks-10k format."""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.db import transaction
from django.db.models import Model

from accounts.models import User
from catalog.importer import (
    COLUMNS,
    OPTIONAL_COLUMNS,
    TAG_COLUMNS,
    TAGGING_COLUMNS,
    ImportReport,
    Table,
    find_imported_ids,
    import_books,
    import_taggings,
    import_tags,
)
from catalog.models import Author, Book, ShelfEntry, Tag, Tagging
from catalog.tags import update_statistics
from common.database import Atomic
from mirror.management import FOUND, OK, Progress, ReportingCommand
from mirror.upkeep import bulk_load
from shop.importer import files
from shop.importer.history import PrimaryKeys, import_purchases, import_readers, import_shelves, import_views
from shop.importer.products import import_products
from shop.models import Order, OrderLine, Product, View

CATALOGUE: Final = ("books", "authors", "tags", "taggings")
HISTORY: Final = ("products", "readers", "views", "purchases", "shelved")
MIN_LOADED_ROWS: Final = 1000  # fewer are not worth a rebuild
CATALOGUE_MODELS: Final = (Book, Author, Tag, Book.authors.through, Tagging)
FILLED_MODELS: Final = (*CATALOGUE_MODELS, Product, User, View, Order, OrderLine, ShelfEntry)


class Command(ReportingCommand):
    help = (
        "Import books, authors and tags from books.csv, tags.csv and book_tags.csv in DIR, a product for each book, and"
        " readers from to_read.csv and ratings.csv (both optional). A row of to_read.csv becomes a view, a rating"
        " becomes a purchase, both at invented but reproducible times, and both books go on the reader's shelves."
        " Running it again changes nothing; an interrupted import continues. Exits with 1 if no book could be imported."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="a folder in goodbooks-10k format")
        parser.add_argument("--limit", type=int, metavar="N", help="only the first N books and their data")
        text = "only books, authors and tags: no products, readers, views, purchases or shelves"
        parser.add_argument("--books-only", action="store_true", help=text)
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, **options: Any) -> int:
        folder, limit = Path(options["folder"]), options["limit"]
        if limit is not None and limit < 1:
            raise CommandError("--limit must be at least 1")
        began = time.monotonic()
        books_only = options["books_only"]
        work = _Import(folder, limit, books_only=books_only)
        with Progress(self.stderr, "read", work.totals()) as progress:
            work.catalogue(progress)
            if not books_only:
                work.read_history(progress)
        if not books_only:
            with Progress(self.stderr, "written", work.count_rows_to_write()) as progress:
                work.write_history(progress)
        tally, seconds = work.tally, time.monotonic() - began
        if any(tally.added.values()):
            update_statistics(FILLED_MODELS)
        kinds = CATALOGUE if books_only else CATALOGUE + HISTORY
        self.report(_as_dict(work, kinds, seconds), _make_report_lines(work, kinds, seconds), options["json"])
        return OK if tally.read["books"] else FOUND


class _Import:
    """The files of a folder and the progress of their import. The constructor checks the files before anything is
    written.
    """

    def __init__(self, folder: Path, limit: int | None, *, books_only: bool) -> None:
        self.limit, self.tally = limit, ImportReport()
        self.books = Table(folder, "books.csv", COLUMNS, OPTIONAL_COLUMNS)
        self.tags = Table(folder, "tags.csv", TAG_COLUMNS)
        self.links = Table(folder, "book_tags.csv", TAGGING_COLUMNS)
        wanted = {} if books_only else {"views": files.VIEWS_FILE, "purchases": files.PURCHASES_FILE}
        self.history = {kind: files.open_table(folder, name) for kind, name in wanted.items()}
        self.missing = [wanted[kind] for kind, table in self.history.items() if table is None]
        self.numbers: dict[int, int] = {}  # primary keys of books by their numbers in the files
        self.pairs: dict[str, files.Pairs] = {}
        self.readers: set[int] = set()

    def totals(self) -> dict[str, int]:
        """Return the approximate number of rows to read, by kind."""
        tables = {kind: table for kind, table in self.history.items() if table is not None}
        return {
            "books": self.limit or self.books.lines(),
            "tags": self.tags.lines(),
            "taggings": self.links.lines(),
            **{kind: table.lines() for kind, table in tables.items()},
        }

    def catalogue(self, progress: Progress) -> None:
        """Import books, authors, tags and the tags of books."""
        with _load_new(CATALOGUE_MODELS, self.limit or self.books.lines()) as atomic:
            import_books(self.books, self.limit, self.tally, progress, atomic)
            numbers = import_tags(self.tags, self.tally, progress, atomic)
            import_taggings(self.links, numbers, self.tally, progress, atomic)

    def read_history(self, progress: Progress) -> None:
        """Read the lists of wanted and rated books."""
        self.numbers = find_imported_ids(self.books, self.limit)
        for kind, table in self.history.items():
            self.pairs[kind] = (
                files.read_pairs(table, kind, self.numbers, self.tally, progress) if table else files.Pairs()
            )
            self.readers |= self.pairs[kind].users()
        self.tally.read["readers"] = len(self.readers)

    def count_rows_to_write(self) -> dict[str, int]:
        """Return the number of rows to write, by kind."""
        pairs = {kind: len(found) for kind, found in self.pairs.items()}
        return {"products": len(self.numbers), "readers": len(self.readers), **pairs, "shelved": sum(pairs.values())}

    def write_history(self, progress: Progress) -> None:
        """Write products, readers, views, purchases and shelves."""
        added = self.tally.added
        import_products(self.numbers, self.tally, progress)
        with _load_new([User], len(self.readers)) as atomic:
            users, added["readers"] = import_readers(self.readers, partial(progress, "readers"), atomic)
        known = PrimaryKeys(users, self.numbers)
        for kind, write in (("views", import_views), ("purchases", import_purchases)):
            added[kind] = write(self.pairs[kind], known, partial(progress, kind))
        told = partial(progress, "shelved")
        wanted, rated = self.pairs["views"], self.pairs["purchases"]
        with _load_new([ShelfEntry], len(wanted) + len(rated)) as atomic:
            added["shelved"] = import_shelves(wanted, rated, known, told, atomic)


@contextmanager
def _load_new(models: Sequence[type[Model]], rows: int) -> Generator[Atomic, None, None]:
    """Yield the transactions for adding up to ``rows`` rows of the first of these models, and rows of the others.

    They belong to a bulk load if the table may double at least: its rebuild then costs less than changes of the rows.
    """
    present = models[0]._base_manager.count()
    if rows < 2 * present or rows < MIN_LOADED_ROWS:
        yield transaction.atomic
        return
    with bulk_load(*models) as load:
        yield load.atomic


def _as_dict(work: _Import, kinds: tuple[str, ...], seconds: float) -> dict[str, Any]:
    return {
        "read": dict(work.tally.read),
        "added": {kind: work.tally.added[kind] for kind in kinds},
        "dirt": work.tally.dirt.as_dict(),
        "missing": work.missing,
        "seconds": round(seconds, 2),
    }


def _make_report_lines(work: _Import, kinds: tuple[str, ...], seconds: float) -> list[str]:
    tally = work.tally
    added = ", ".join(f"{tally.added[kind]} {kind}" for kind in kinds)
    merged = tally.read["tags merged"]
    lines = [
        f"added {added} in {seconds:.1f} s ({merged} tags merged with tags of the same name)",
        f"dirt: {tally.dirt}" if tally.dirt.counts else "no dirt",
    ]
    return lines + [f"{name} is missing and was skipped" for name in work.missing]
