"""Receivers that maintain views when books are shown, tokens rotate, users log in, sessions end or users are
deleted.
"""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.http import HttpRequest

from accounts.models import Session, User
from accounts.session_signals import sessions_ending, token_rotated
from catalog.signals import book_shown
from shop.viewing import visits
from shop.visitors import digest_of


@receiver(book_shown, dispatch_uid="shop.record_view")
def record_view(*, request: HttpRequest, book_id: int, **kwargs: Any) -> None:
    """Record a view of a book."""
    visits.record(request, book_id)


@receiver(token_rotated, dispatch_uid="shop.take_views_along")
def take_views_along(*, old: str, new: str, **kwargs: Any) -> None:
    """Move the views of the old token to the new one."""
    visits.take_along(old, new)


@receiver(user_logged_in, dispatch_uid="shop.claim_views")
def claim_views(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Assign the session's views to the user who logs in."""
    if digest := digest_of(request):
        visits.claim(digest, user.pk)


@receiver(sessions_ending, dispatch_uid="shop.forget_views")
def forget_views(*, digests: list[str], **kwargs: Any) -> None:
    """Delete the list of an ended session. Its views stay in SQL."""
    visits.forget(digests)


@receiver(pre_delete, sender=User, dispatch_uid="shop.forget_views_of_user")
def forget_views_of_user(*, instance: User, **kwargs: Any) -> None:
    """Delete the lists of a deleted user's sessions. The views in SQL stay without a user."""
    digests = list(Session.objects.filter(user=instance).values_list("pk", flat=True))
    transaction.on_commit(lambda: visits.forget(digests), robust=True)
