"""Import tags, and the tags of books."""

from collections import Counter
from collections.abc import Sequence

from django.db import transaction

from catalog.aliases import resolve
from catalog.bulk import add_counted_tags, ids_of
from catalog.importer import clean
from catalog.importer.books import Progress, Tally, keys_of
from catalog.importer.files import Table, batches
from catalog.models import Tag
from catalog.names import normalise

TAG_COLUMNS = ("tag_id", "tag_name")
LINK_COLUMNS = ("goodreads_book_id", "tag_id", "count")
BATCH = 5000  # rows in a transaction
LONGEST_NAME = 200
MAX_COUNT = 2**31 - 1

TagIds = dict[int, int]  # from a tag's number in the file to its primary key


def import_tags(table: Table, tally: Tally, progress: Progress) -> TagIds:
    """Add missing tags. Names that differ only in case or Unicode form are one tag, and so are aliases of a tag
    (``catalog.aliases``).
    """
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
        meant, of_aliases = resolve(some)
        known, added = ids_of(Tag, list(dict.fromkeys(meant.values())))
        ids |= {name: known[meant[name]] for name in some}
        tally.added["tags"] += added + of_aliases
    return ids


def import_links(table: Table, tags: TagIds, tally: Tally, progress: Progress) -> None:
    """Add tags to the existing books, each with its number of readers.

    If several tags of the file are one tag here, their counts are added up. They are written last, because the rows of
    a book may be anywhere in the file.
    """
    several = {tag for tag, numbers in Counter(tags.values()).items() if numbers > 1}
    merged: dict[tuple[int, int], int] = {}
    for batch in batches(table.rows(tally.dirt), BATCH):
        rows = [(line, clean.number(book), clean.number(tag), count) for line, (book, tag, count) in batch]
        books = keys_of({book for _, book, _, _ in rows})
        pairs: dict[tuple[int, int], int] = {}
        for line, book, tag, count_text in rows:
            if book is None or tag is None:
                tally.dirt.note("taggings without usable numbers", table.name, line)
            elif book not in books:
                tally.dirt.note("taggings of unknown books", table.name, line)
            elif tag not in tags:
                tally.dirt.note("taggings with unknown tags", table.name, line)
            else:
                pair, count = (books[book], tags[tag]), clean.number(count_text, MAX_COUNT)
                if count is None:
                    tally.dirt.note("taggings without a usable count", table.name, line)
                found = merged if tags[tag] in several else pairs
                if pair in found:
                    tally.dirt.note("one tag twice on one book", table.name, line)
                found[pair] = min(MAX_COUNT, found.get(pair, 0) + (1 if count is None else count))
        _add(pairs, tally)
        tally.read["taggings"] += len(batch)
        progress("taggings", len(batch))
    for some in batches(merged.items(), BATCH):
        _add(dict(some), tally)


def _add(counts: dict[tuple[int, int], int], tally: Tally) -> None:
    if counts:
        with transaction.atomic():
            tally.added["taggings"] += add_counted_tags(counts)
