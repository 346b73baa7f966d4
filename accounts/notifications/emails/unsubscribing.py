"""Signed links in emails, by which a reader unsubscribes without a login (RFC 8058).

They have no end, because an old email must still work, and they allow nothing else.
"""

from typing import Final, NamedTuple

from django.conf import settings
from django.core import signing
from django.urls import reverse

from accounts.notifications.models import Way

SALT: Final = "accounts.notifications.unsubscribe"


class Subscription(NamedTuple):
    """The emails of one way to a reader."""

    user: int
    way: Way


def make_link(subscription: Subscription) -> str:
    """Return the address that ends a subscription."""
    token = signing.dumps([subscription.user, subscription.way.value], salt=SALT)
    return f"{settings.SITE_URL}{reverse('notifications:unsubscribe', args=[token])}"


def read_token(token: str) -> Subscription | None:
    """Return the subscription that a link ends, or None if the site did not sign it."""
    try:
        user, way = signing.loads(token, salt=SALT)
    except signing.BadSignature:
        return None
    return Subscription(user, Way(way))
