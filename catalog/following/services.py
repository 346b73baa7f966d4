"""Services for follows of authors. Each is idempotent and returns whether it changed anything."""

from typing import Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from catalog.following.models import AuthorFollow
from common.database import repeat_after_conflict
from common.refusals import Refused

MAX_FOLLOWED: Final = 1000  # authors of one reader


class NoSuchAuthor(Refused):
    """The author does not exist."""

    message = _("Author not found.")


class FollowsTooManyAuthors(Refused):
    """The reader follows as many authors as possible."""

    def __str__(self) -> str:
        return str(_("You follow %(count)s authors, which is the maximum.")) % {"count": f"{MAX_FOLLOWED:,}"}


@repeat_after_conflict
def follow_author(user_id: int, author_id: int) -> bool:
    """Follow an author. Return False if the reader does so already.

    Raises NoSuchAuthor, FollowsTooManyAuthors.
    """
    follows = AuthorFollow.objects.filter(user_id=user_id)
    try:
        with transaction.atomic():
            # Without a lock: two requests at once may exceed the limit by one.
            if follows.count() >= MAX_FOLLOWED and not follows.filter(author_id=author_id).exists():
                raise FollowsTooManyAuthors
            return AuthorFollow.objects.get_or_create(user_id=user_id, author_id=author_id)[1]
    # Foreign keys are checked at the commit, where the author or the reader may turn out to be missing.
    except IntegrityError as error:
        raise NoSuchAuthor from error


@repeat_after_conflict
def unfollow_author(user_id: int, author_id: int) -> bool:
    """Stop following an author. Return False if the reader does not follow them."""
    return bool(AuthorFollow.objects.filter(user_id=user_id, author_id=author_id).delete()[0])
