"""Import tags, and the tags of books."""

from collections import Counter
from collections.abc import Iterator, Sequence

from django.db import transaction

from catalog.importer import clean
from catalog.importer.books import ImportReport, find_ids_by_goodreads_id
from catalog.importer.files import Table, split_batches
from catalog.models import Tag
from catalog.names import normalise
from catalog.tags.aliases import resolve_aliases
from catalog.tags.bulk import add_counted_taggings, get_or_create_ids
from common.database import Atomic
from mirror.utils import ProgressCallback

TAG_COLUMNS = ("tag_id", "tag_name")
TAGGING_COLUMNS = ("goodreads_book_id", "tag_id", "count")
BATCH_SIZE = 5000  # rows in a transaction
MAX_NAME_LENGTH = 200
MAX_COUNT = 2**31 - 1

TagIds = dict[int, int]  # from a tag's number in the file to its primary key
Pair = tuple[int, int]  # the primary keys of a book and a tag


def import_tags(
    table: Table, tally: ImportReport, progress: ProgressCallback, atomic: Atomic = transaction.atomic
) -> TagIds:
    """Add missing tags. Names that differ only in case or Unicode form are one tag, and so are aliases of a tag
    (``catalog.tags.aliases``).
    """
    found: TagIds = {}
    for batch in split_batches(table.rows(tally.dirt), BATCH_SIZE):
        names: dict[int, str] = {}
        for line, (number_text, name_text) in batch:
            number, name = clean.parse_number(number_text), normalise(name_text)
            wrong = _find_problem(number, name, number in found or number in names)
            if wrong:
                tally.dirt.note(wrong, table.name, line)
            elif number is not None:
                names[number] = name
        with atomic():
            ids = _get_or_create_tag_ids(list(dict.fromkeys(names.values())), tally)
        found |= {number: ids[name] for number, name in names.items()}
        tally.read["tags"] += len(batch)
        progress("tags", len(batch))
    merged = len(found) - len(set(found.values()))
    tally.read["tags merged"] = merged
    return found


def _find_problem(number: int | None, name: str, is_known: bool) -> str | None:
    if number is None:
        return "tags without a usable number"
    if not name:
        return "tags without a name"
    if len(name) > MAX_NAME_LENGTH:
        return "tags with too long a name"
    return "tag numbers listed twice" if is_known else None


def _get_or_create_tag_ids(names: Sequence[str], tally: ImportReport) -> dict[str, int]:
    ids: dict[str, int] = {}
    for some in split_batches(names, 1000):
        meant, of_aliases = resolve_aliases(some)
        known, added = get_or_create_ids(Tag, list(dict.fromkeys(meant.values())))
        for name in some:
            ids[name] = known[meant[name]]
        tally.added["tags"] += added + of_aliases
    return ids


def import_taggings(
    table: Table, tags: TagIds, tally: ImportReport, progress: ProgressCallback, atomic: Atomic = transaction.atomic
) -> None:
    """Add tags to the existing books, each with its number of readers.

    If several tags of the file are one tag here, their counts are added up. They are written last, because the rows of
    a book may be anywhere in the file.
    """
    merged_tags = {tag for tag, numbers in Counter(tags.values()).items() if numbers > 1}
    merged: dict[Pair, int] = {}
    for batch in split_batches(table.rows(tally.dirt), BATCH_SIZE):
        pairs: dict[Pair, int] = {}
        for line, pair, count in _read_taggings(batch, table, tags, tally):
            counts = merged if pair[1] in merged_tags else pairs
            if pair in counts:
                tally.dirt.note("one tag twice on one book", table.name, line)
            counts[pair] = min(MAX_COUNT, counts.get(pair, 0) + count)
        _add_taggings(pairs, tally, atomic)
        tally.read["taggings"] += len(batch)
        progress("taggings", len(batch))
    for some in split_batches(merged.items(), BATCH_SIZE):
        _add_taggings(dict(some), tally, atomic)


def _read_taggings(
    batch: Sequence[tuple[int, list[str]]], table: Table, tags: TagIds, tally: ImportReport
) -> Iterator[tuple[int, Pair, int]]:
    """Yield the line, the primary keys of book and tag, and the count of each usable row."""
    rows = []
    for line, (book_text, tag_text, count_text) in batch:
        rows.append((line, clean.parse_number(book_text), clean.parse_number(tag_text), count_text))
    books = find_ids_by_goodreads_id({book for _, book, _, _ in rows})
    for line, book, tag, count_text in rows:
        if book is None or tag is None:
            tally.dirt.note("taggings without usable numbers", table.name, line)
        elif book not in books:
            tally.dirt.note("taggings of unknown books", table.name, line)
        elif tag not in tags:
            tally.dirt.note("taggings with unknown tags", table.name, line)
        else:
            count = clean.parse_number(count_text, MAX_COUNT)
            if count is None:
                tally.dirt.note("taggings without a usable count", table.name, line)
                count = 1
            yield line, (books[book], tags[tag]), count


def _add_taggings(counts: dict[Pair, int], tally: ImportReport, atomic: Atomic) -> None:
    if counts:
        # The rows of a batch are one transaction, so a killed import leaves whole batches.
        with atomic():
            tally.added["taggings"] += add_counted_taggings(counts)
