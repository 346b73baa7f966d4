"""What views hang on: a book is shown, a session goes on under another token, or ends; a user is erased."""

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
    """Somebody looks at a book."""
    visits.record(request, book_id)


@receiver(token_rotated, dispatch_uid="shop.take_views_along")
def take_views_along(*, old: str, new: str, **kwargs: Any) -> None:
    """What was seen under the old token was seen under the new one."""
    visits.take_along(old, new)


@receiver(user_logged_in, dispatch_uid="shop.claim_views")
def claim_views(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Who logs in has seen what they saw before."""
    if digest := digest_of(request):
        visits.claim(digest, user.pk)


@receiver(sessions_ending, dispatch_uid="shop.forget_views")
def forget_views(*, digests: list[str], **kwargs: Any) -> None:
    """A session's list goes with it; its views stay in SQL."""
    visits.forget(digests)


@receiver(pre_delete, sender=User, dispatch_uid="shop.forget_views_of_user")
def forget_views_of_user(*, instance: User, **kwargs: Any) -> None:
    """Nobody can come back to their lists. Their views in SQL are a stranger's from now on."""
    digests = list(Session.objects.filter(user=instance).values_list("pk", flat=True))
    transaction.on_commit(lambda: visits.forget(digests), robust=True)
