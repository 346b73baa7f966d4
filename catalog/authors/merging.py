"""Merge authors: one person under several names becomes one author."""

from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet

from catalog.details.models import BookDetails
from catalog.following.models import AuthorFollow
from catalog.models import Author, AuthorAlias, Book
from common.database import SLICE_SIZE, point_rows_at, repeat_after_conflict

# The tables that name authors, and the other column of each, which a row has once for an author.
_LINKS: Final[tuple[tuple[Any, str], ...]] = (
    (Book.authors.through, "book_id"),
    (BookDetails.translators.through, "bookdetails_id"),
    (BookDetails.illustrators.through, "bookdetails_id"),
    (AuthorFollow, "user_id"),
)


@repeat_after_conflict
def merge_authors(authors: QuerySet[Author], into: Author) -> int:
    """Replace ``authors`` by the author ``into`` everywhere, and delete them. Return the number of deleted authors.

    Their names become aliases, so that imports find the author, and their pages redirect. A missing text about the
    author, or a missing photo, is taken over; other photos are deleted with their files.
    """
    with transaction.atomic():
        # In the order of the keys, so that two merges in opposite directions do not wait for each other.
        chosen = Author.objects.select_for_update().filter(Q(pk__in=authors.values("pk")) | Q(pk=into.pk))
        locked = {author.pk: author for author in chosen.order_by("pk")}
        target = locked.pop(into.pk, None)
        if target is None:
            return 0
        for author in locked.values():
            _replace_author(author, target)
        Author.objects.filter(pk__in=locked).delete()
    return len(locked)


def _replace_author(author: Author, target: Author) -> None:
    for links, other_column in _LINKS:
        point_rows_at(links._base_manager.filter(author_id=author.pk), "author_id", target.pk, [other_column])
    _move_followers(author, target)
    AuthorAlias.objects.filter(author=author).update(author=target)
    AuthorAlias.objects.update_or_create(name=author.name, defaults={"author": target, "former_id": author.pk})
    if author.bio and not target.bio:
        target.bio = author.bio
        target.save(update_fields=["bio"])
    if author.photo and not target.photo:
        target.photo = author.photo
        target.save(update_fields=["photo"])
        # The files of a deleted author are deleted with it.
        Author.objects.filter(pk=author.pk).update(photo="")


def _move_followers(author: Author, target: Author) -> None:
    # Rows of edges are added and deleted, because their mirror expects no updates.
    follows = AuthorFollow.objects.filter(author=author)
    moved = (
        AuthorFollow(user_id=user, author=target, created_at=at)
        for user, at in follows.values_list("user", "created_at")
    )
    AuthorFollow.objects.bulk_create(moved, ignore_conflicts=True, batch_size=SLICE_SIZE)
    follows.delete()
