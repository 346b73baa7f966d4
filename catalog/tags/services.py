"""Changes of many books at once. Each is one transaction with few statements for each batch of books."""

from collections.abc import Iterator
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet

from catalog.models import Book, Tag, TagAlias, Tagging, TagVote
from catalog.signals import tag_merged
from catalog.tags.bulk import add_taggings, get_or_create_ids
from common.database import point_rows_at, repeat_after_conflict

BATCH_SIZE = 5000
_MOVE_TAGGINGS = """
    INSERT INTO catalog_book_tags (book_id, tag_id, imported_count)
    SELECT book_id, %s, imported_count FROM catalog_book_tags WHERE tag_id = %s
    ON CONFLICT (book_id, tag_id) DO UPDATE
    SET imported_count = catalog_book_tags.imported_count + excluded.imported_count
"""


@repeat_after_conflict
def add_tag_to_books(books: QuerySet[Book], name: str) -> int:
    """Add the tag ``name``, created if necessary, to ``books``. Return the number of books that lacked it."""
    added = 0
    with transaction.atomic():
        ids, _ = get_or_create_ids(Tag, [name])
        # Not ids[name], because a new tag is stored under the normalised name.
        (tag,) = ids.values()
        for pks in _iterate_ids(books):
            added += add_taggings((pk, tag) for pk in pks)
    return added


@repeat_after_conflict
def remove_tag_from_books(books: QuerySet[Book], tag: Tag) -> int:
    """Remove ``tag`` and all votes for it from ``books``. Return the number of books that had it."""
    removed = 0
    with transaction.atomic():
        for pks in _iterate_ids(books):
            _delete_rows(TagVote.objects.filter(tag=tag, book_id__in=pks))
            removed += _delete_rows(Tagging.objects.filter(tag=tag, book_id__in=pks))
    return removed


@repeat_after_conflict
def merge_tags(tags: QuerySet[Tag], into: Tag) -> int:
    """Replace ``tags`` by the tag ``into`` on all books, and delete them. Return the number of deleted tags.

    Imported counts are added up. A reader with votes for several of the tags keeps one vote for ``into``,
    and readers who chose one of them as a genre keep ``into``. The old names become aliases: the next import would
    bring the tags back.
    """
    with transaction.atomic():
        # A concurrent vote for one of the tags waits for this lock at its commit, and fails because the tag is gone.
        rows = tags.exclude(pk=into.pk).select_for_update().order_by("pk").values_list("pk", "name")
        names = dict(rows)
        for tag in names:
            with connection.cursor() as cursor:
                cursor.execute(_MOVE_TAGGINGS, [into.pk, tag])
            point_rows_at(TagVote.objects.filter(tag_id=tag), "tag_id", into.pk, ["user_id", "book_id"])
            _delete_rows(Tagging.objects.filter(tag_id=tag))
            tag_merged.send(Tag, tag_id=tag, target_id=into.pk)
        TagAlias.objects.filter(tag_id__in=names).update(tag=into)
        Tag.objects.filter(pk__in=names).delete()
        # The alias exists already if it is the reason for the merge.
        TagAlias.objects.bulk_create([TagAlias(name=name, tag=into) for name in names.values()], ignore_conflicts=True)
    return len(names)


def _iterate_ids(books: QuerySet[Book]) -> Iterator[list[int]]:
    """Yield the primary keys of books in batches, by keyset."""
    rows = books.order_by("pk").values_list("pk", flat=True)
    pks = list(rows[:BATCH_SIZE])
    while pks:
        yield pks
        pks = list(rows.filter(pk__gt=pks[-1])[:BATCH_SIZE])


def _delete_rows(rows: QuerySet[Any]) -> int:
    """Delete without reading the rows first: no other rows depend on them, and triggers capture the changes."""
    return int(rows._raw_delete(rows.db))
