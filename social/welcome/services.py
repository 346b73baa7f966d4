"""Changes of the first steps. Each may be repeated without further effect."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import date
from typing import Final

from django.db import transaction
from django.dispatch import receiver

from catalog.models import Tag
from catalog.shelves.services import BookNotFound, rate_book
from catalog.signals import tag_merged
from common.database import point_rows_at, repeat_after_conflict
from social.welcome.models import ChosenGenre

MAX_GENRES: Final = 10  # of one reader


@repeat_after_conflict
def choose_genres(user_id: int, names: Collection[str]) -> None:
    """Make these tags the reader's genres, at most MAX_GENRES. Unknown and hidden tags are left out.

    Chosen tags that staff have hidden since stay chosen: the form does not show them, and they may be shown again.
    """
    possible = [name for name in names if "\0" not in name]  # PostgreSQL refuses to compare with it
    found = Tag.objects.filter(name__in=possible, hidden=False).order_by("name")
    tag_ids = list(found.values_list("pk", flat=True)[:MAX_GENRES])
    with transaction.atomic():
        ChosenGenre.objects.filter(user_id=user_id, tag__hidden=False).exclude(tag__in=tag_ids).delete()
        chosen = [ChosenGenre(user_id=user_id, tag_id=pk) for pk in tag_ids]
        ChosenGenre.objects.bulk_create(chosen, ignore_conflicts=True)


@receiver(tag_merged, dispatch_uid="welcome.keep_genre")
def keep_genre(tag_id: int, target_id: int, **kwargs: object) -> None:
    """Let the readers of a genre keep the tag into which it is merged."""
    point_rows_at(ChosenGenre.objects.filter(tag_id=tag_id), "tag_id", target_id, ["user_id"])


def rate_books(user_id: int, ratings: Mapping[int, int], today: date) -> None:
    """Rate books, by id, in halves of a star. Books that were deleted meanwhile are left out."""
    for book_id, stars in ratings.items():
        with suppress(BookNotFound):
            rate_book(user_id, book_id, stars, today)
