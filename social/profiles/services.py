"""Changes of readers' profiles. Each may be repeated without further effect."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from django.db import IntegrityError, transaction
from django.db.models import Max

from accounts.models import User
from common.database import repeat_after_conflict
from mirror.utils import after_commit
from social.models import FavouriteBook, ReaderProfile
from social.profiles.pictures import AVATARS

MAX_FAVOURITES: Final = 4


def set_texts(user_id: int, bio: str, links: Sequence[str]) -> None:
    """Set the text about a reader, and the links."""
    ReaderProfile.objects.update_or_create(user_id=user_id, defaults={"bio": bio, "links": list(links)})


def set_picture(user_id: int, content: bytes) -> None:
    """Set a reader's picture. Raises Refused."""
    _replace_picture(user_id, AVATARS.store(str(user_id), AVATARS.encode(content)))


def remove_picture(user_id: int) -> None:
    """Remove a reader's picture, if there is one."""
    _replace_picture(user_id, "")


@repeat_after_conflict
def _replace_picture(user_id: int, name: str) -> None:
    with transaction.atomic():
        user = User.objects.select_for_update().get(pk=user_id)
        former, user.avatar = user.avatar, name
        # Not ``update``: the signals of ``save`` bring it to Redis at once.
        user.save(update_fields=["avatar"])
        if former and former != name:
            # After the commit: a transaction that is rolled back must not lose the file.
            after_commit(partial(AVATARS.delete, former))


@repeat_after_conflict
def add_favourite(user_id: int, book_id: int) -> bool:
    """Add a book to a reader's favourites. Return False if it is missing, already one of them, or there are four."""
    own = FavouriteBook.objects.filter(user_id=user_id)
    try:
        with transaction.atomic():
            # The lock keeps two requests from adding a fifth book.
            User.objects.select_for_update(no_key=True).get(pk=user_id)
            if own.count() >= MAX_FAVOURITES or own.filter(book_id=book_id).exists():
                return False
            ReaderProfile.objects.get_or_create(user_id=user_id)
            last = own.aggregate(last=Max("place"))["last"] or 0
            FavouriteBook.objects.create(user_id=user_id, book_id=book_id, place=last + 1)
    # Foreign keys are checked at the commit, where the book may turn out to be missing.
    except IntegrityError:
        return False
    return True


def remove_favourite(user_id: int, book_id: int) -> bool:
    """Remove a book from a reader's favourites. Return False if it is none of them."""
    return bool(FavouriteBook.objects.filter(user_id=user_id, book_id=book_id).delete()[0])


def read_picture(user_id: int) -> Iterator[dict[str, str]]:
    """Yield the reader's picture in its larger size for the download: its name and the file in base64."""
    name = User.objects.values_list("avatar", flat=True).get(pk=user_id)
    if name:
        yield {"file": f"{name}.webp", "base64": b64encode(AVATARS.read_largest(name)).decode()}


def erase_picture(user_id: int) -> bool:
    """Erase the reader's picture."""
    remove_picture(user_id)
    return False
