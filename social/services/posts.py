"""What changes posts."""

from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from social.models import Post, new_key


def post(
    user_id: int, text: str, *, book_id: int | None = None, key: str | None = None, created_at: datetime | None = None
) -> Post:
    """Say something, perhaps about a book. The same key of the same user again: the post that it made before.

    Raises ValidationError by field.
    """
    text = text.strip()
    if not text:
        raise ValidationError({"text": _("There is nothing in it.")})
    key = key or new_key()
    try:
        with transaction.atomic():
            return Post.objects.create(
                user_id=user_id, text=text, book_id=book_id, key=key, created_at=created_at or timezone.now()
            )
    except IntegrityError:
        found = Post.objects.filter(user_id=user_id, key=key).first()
        if found is None:
            raise
        return found


def delete_post(post_id: int, *, by: int) -> bool:
    """Delete a post of one's own, or as staff who may. False: there is none, or it is not theirs to delete."""
    mine = Q() if _may_delete_any(by) else Q(user_id=by)
    return bool(Post.objects.filter(mine, pk=post_id).delete()[0])


def hide_post(post_id: int) -> bool:
    """Take a post out of sight. False: there is none, or it was."""
    return bool(Post.objects.filter(pk=post_id, is_hidden=False).update(is_hidden=True))


def unhide_post(post_id: int) -> bool:
    """Let a post be seen again. False: there is none, or it was."""
    return bool(Post.objects.filter(pk=post_id, is_hidden=True).update(is_hidden=False))


def _may_delete_any(user_id: int) -> bool:
    user = User.objects.filter(pk=user_id, is_active=True, is_staff=True).first()
    return user is not None and user.has_perm("social.delete_post")
