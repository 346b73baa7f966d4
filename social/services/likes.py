"""Services for likes. Each is idempotent and returns whether it changed anything."""

from django.db import IntegrityError, transaction

from common.database import repeat_after_conflict
from social.models import Like
from social.services.visibility import find_shown_post


class NoSuchPost(Exception):
    """The post does not exist, is not visible to the reader."""


@repeat_after_conflict
def like_post(user_id: int, post_id: int) -> bool:
    """Like a post. Return False if the reader already likes it. Raises NoSuchPost."""
    if find_shown_post(user_id, post_id) is None:
        raise NoSuchPost
    try:
        with transaction.atomic():
            return Like.objects.get_or_create(user_id=user_id, post_id=post_id)[1]
    # Foreign keys are checked at the commit, where the post or the reader may turn out to be deleted.
    except IntegrityError as error:
        raise NoSuchPost from error


@repeat_after_conflict
def unlike_post(user_id: int, post_id: int) -> bool:
    """Remove a like, also from a post that the reader does not see any more. Return False if it does not exist."""
    return bool(Like.objects.filter(user_id=user_id, post_id=post_id).delete()[0])
