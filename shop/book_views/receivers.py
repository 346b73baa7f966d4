"""Receivers that maintain views when books are shown, tokens rotate, users log in, sessions end or users are
deleted.
"""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Session, User
from accounts.sessions import sessions_ending, token_rotated
from catalog.signals import book_shown
from mirror.utils import after_commit
from shop.book_views import visits
from shop.visitors import get_session_digest


@receiver(book_shown, dispatch_uid="shop.record_view")
def record_view(*, request: HttpRequest, book_id: int, **kwargs: Any) -> None:
    """Record a view of a book."""
    visits.record_view(request, book_id)


@receiver(token_rotated, dispatch_uid="shop.take_views_along")
def move_views(*, old: str, new: str, **kwargs: Any) -> None:
    """Move the views of the old token to the new one."""
    visits.move_views(old, new)


@receiver(user_logged_in, dispatch_uid="shop.claim_views")
def claim_views(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Assign the session's views to the user who logs in."""
    if digest := get_session_digest(request):
        visits.claim_views(digest, user.pk)


@receiver(sessions_ending, dispatch_uid="shop.forget_views")
def forget_last_viewed(*, digests: list[str], **kwargs: Any) -> None:
    """Delete the list of an ended session. Its views stay in SQL."""
    after_commit(visits.forget_last_viewed, digests)


@receiver(pre_delete, sender=User, dispatch_uid="shop.forget_views_of_user")
def forget_last_viewed_of_user(*, instance: User, **kwargs: Any) -> None:
    """Delete the lists of a deleted user's sessions. The views in SQL stay without a user."""
    digests = list(Session.objects.filter(user=instance).values_list("pk", flat=True))
    after_commit(visits.forget_last_viewed, digests)
