"""Tags, and which book has which."""

from collections.abc import Sequence

from django.db import transaction

from catalog.bulk import add_tags, ids_of
from catalog.importer import clean
from catalog.importer.books import Progress, Tally, keys_of
from catalog.importer.files import Table, batches
from catalog.models import Tag
from catalog.names import normalise

TAG_COLUMNS = ("tag_id", "tag_name")
LINK_COLUMNS = ("goodreads_book_id", "tag_id")
BATCH = 5000  # rows a transaction
LONGEST_NAME = 200

TagIds = dict[int, int]  # from the file's number of a tag to its primary key


def import_tags(table: Table, tally: Tally, progress: Progress) -> TagIds:
    """Add the tags that are not there yet; names that differ only in case or form are one tag."""
    found: TagIds = {}
    for batch in batches(table.rows(tally.dirt), BATCH):
        names: dict[int, str] = {}
        for line, (number_text, name_text) in batch:
            number, name = clean.number(number_text), normalise(name_text)
            if wrong := _wrong(number, name, number in found or number in names):
                tally.dirt.note(wrong, table.name, line)
            elif number is not None:
                names[number] = name
        with transaction.atomic():
            ids = _ids_of(list(dict.fromkeys(names.values())), tally)
        found |= {number: ids[name] for number, name in names.items()}
        tally.read["tags"] += len(batch)
        progress("tags", len(batch))
    merged = len(found) - len(set(found.values()))
    tally.read["tags merged"] = merged
    return found


def _wrong(number: int | None, name: str, is_known: bool) -> str | None:
    if number is None:
        return "tags without a usable number"
    if not name:
        return "tags without a name"
    if len(name) > LONGEST_NAME:
        return "tags with too long a name"
    return "tag numbers listed twice" if is_known else None


def _ids_of(names: Sequence[str], tally: Tally) -> dict[str, int]:
    ids: dict[str, int] = {}
    for some in batches(names, 1000):
        known, added = ids_of(Tag, some)
        ids |= known
        tally.added["tags"] += added
    return ids


def import_links(table: Table, tags: TagIds, tally: Tally, progress: Progress) -> None:
    """Put the tags on the books that are there."""
    for batch in batches(table.rows(tally.dirt), BATCH):
        rows = [(line, clean.number(book), clean.number(tag)) for line, (book, tag) in batch]
        books = keys_of({book for _, book, _ in rows})
        pairs: dict[tuple[int, int], None] = {}
        for line, book, tag in rows:
            if book is None or tag is None:
                tally.dirt.note("taggings without usable numbers", table.name, line)
            elif book not in books:
                tally.dirt.note("taggings of unknown books", table.name, line)
            elif tag not in tags:
                tally.dirt.note("taggings with unknown tags", table.name, line)
            elif (pair := (books[book], tags[tag])) in pairs:
                tally.dirt.note("one tag twice on one book", table.name, line)
            else:
                pairs[pair] = None
        if pairs:
            with transaction.atomic():
                tally.added["taggings"] += add_tags(pairs)
        tally.read["taggings"] += len(batch)
        progress("taggings", len(batch))
