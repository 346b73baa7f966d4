"""What can be done to many books at once. Each is one transaction of a few statements, however many there are."""

from collections.abc import Iterator

from django.db import transaction
from django.db.models import QuerySet

from catalog.bulk import add_tags
from catalog.models import Book, Tag

BATCH = 5000
Links = Book.tags.through


def add_tag(books: QuerySet[Book], name: str) -> int:
    """Put the tag ``name`` (made if it is new) on ``books``; returns how many did not have it."""
    with transaction.atomic():
        tag, _ = Tag.objects.get_or_create(name=name)
        return sum(add_tags((pk, tag.pk) for pk in pks) for pks in _batches(books))


def remove_tag(books: QuerySet[Book], tag: Tag) -> int:
    """Take ``tag`` off ``books``; returns how many had it."""
    with transaction.atomic():
        return sum(_unlink(Links._base_manager.filter(tag=tag, book_id__in=pks)) for pks in _batches(books))


def merge_tags(tags: QuerySet[Tag], into: Tag) -> int:
    """Give every book with one of ``tags`` the tag ``into`` instead, and delete them; returns how many they were."""
    with transaction.atomic():
        others = list(tags.exclude(pk=into.pk).values_list("pk", flat=True))
        for tag in others:
            books = Book.objects.filter(pk__in=Links._base_manager.filter(tag_id=tag).values("book_id"))
            for pks in _batches(books):
                add_tags((pk, into.pk) for pk in pks)
        for start in range(0, len(others), BATCH):
            _unlink(Links._base_manager.filter(tag_id__in=others[start : start + BATCH]))
        Tag.objects.filter(pk__in=others).delete()
    return len(others)


def _batches(books: QuerySet[Book]) -> Iterator[list[int]]:
    """Their primary keys, by keyset."""
    rows, after = books.order_by("pk").values_list("pk", flat=True), None
    while pks := list((rows if after is None else rows.filter(pk__gt=after))[:BATCH]):
        yield pks
        after = pks[-1]


def _unlink(links: QuerySet[Links]) -> int:  # type: ignore[valid-type]
    """Delete without reading the rows first: nothing hangs on them, and triggers see it."""
    return int(links._raw_delete(links.db))
