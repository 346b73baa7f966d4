"""What views hang on: a book is shown, a session goes on under another token, or ends."""

from typing import Any

from django.dispatch import receiver
from django.http import HttpRequest

from accounts.session_signals import sessions_ending, token_rotated
from catalog.signals import book_shown
from shop import viewing


@receiver(book_shown, dispatch_uid="shop.record_view")
def record_view(*, request: HttpRequest, book_id: int, **kwargs: Any) -> None:
    """Somebody looks at a book."""
    viewing.record(request, book_id)


@receiver(token_rotated, dispatch_uid="shop.take_views_along")
def take_views_along(*, old: str, new: str, user_id: int | None, **kwargs: Any) -> None:
    """Who logs in has seen what they saw before."""
    viewing.take_along(old, new, user_id)


@receiver(sessions_ending, dispatch_uid="shop.forget_views")
def forget_views(*, digests: list[str], **kwargs: Any) -> None:
    """A session's list goes with it; its views stay in SQL."""
    viewing.forget(digests)
