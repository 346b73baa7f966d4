"""Receivers that move carts when tokens rotate, users log in or sessions end."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils.translation import ngettext

from accounts.models import User
from accounts.sessions import sessions_ending, token_rotated
from mirror.utils import after_commit
from shop.carts import storage


@receiver(token_rotated, dispatch_uid="shop.take_cart_along")
def take_cart_along(*, old: str, new: str, user_id: int | None, **kwargs: Any) -> None:
    """Move the cart to the new token, in the transaction of the rotation."""
    storage.move(old, new, user_id)


@receiver(sessions_ending, dispatch_uid="shop.park_carts")
def park_carts(*, digests: list[str], **kwargs: Any) -> None:
    """Park the carts of ending sessions until their users log in again."""
    storage.park(digests)


@receiver(user_logged_in, dispatch_uid="shop.gather_carts")
def gather_carts(*, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Put parked copies back into the cart of the new session, and tell the user with a message."""
    digest = getattr(request.session, "digest", None)
    if digest is None:
        return
    # The transaction of the login may be repeated, but the user is told once.
    after_commit(_report_gathered, request, storage.gather_parked(user.pk, digest))


def _report_gathered(request: HttpRequest, gathered: storage.GatheredCopies) -> None:
    if gathered.copies:
        text = ngettext(
            "The book from your earlier cart is in your cart again.",
            "The %(count)d books from your earlier cart are in your cart again.",
            gathered.copies,
        )
        messages.info(request, text % {"count": gathered.copies}, fail_silently=True)
    if gathered.left_out:
        text = ngettext(
            "%(count)d more did not fit.",
            "%(count)d more did not fit.",
            gathered.left_out,
        )
        messages.warning(request, text % {"count": gathered.left_out}, fail_silently=True)
