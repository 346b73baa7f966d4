"""The time for which SQL keeps views: as long as they have a use.

Views of anonymous visitors restore the session's list of viewed books, and become the user's at a login. They are kept
as long as such a list lives (``SESSION_COOKIE_AGE``). Views of users feed recommendations. They are kept for
``SHOP_VIEW_DAYS``, and recommendations read no older ones (``shop.recommend.history``), so their deletion does not
change recommendations. Popularity needs only the last hours. Rows of anonymous visitors have a partial index: without
it each slice of a deletion would read three years of customers' rows.
"""

from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q, QuerySet

from common import clock
from common.database import SLICE_SIZE
from mirror.conf import setting
from mirror.relay import Deadline
from mirror.utils import CountCallback, ignore
from shop.models import View

MIN_KEPT_DAYS: Final = 31  # covers the week between view and purchase, the sessions' lists, and a reserve
MAX_KEPT_DAYS: Final = 100 * 365


class RetentionTooShort(ValueError):
    """Such recent views are still needed."""


def get_kept_since(days: int | None = None) -> datetime:
    """Return the time from which users' views are kept. days: instead of ``SHOP_VIEW_DAYS``. Raises TooYoung."""
    days = settings.SHOP_VIEW_DAYS if days is None else days
    if days < MIN_KEPT_DAYS:
        raise RetentionTooShort(f"views are kept for {MIN_KEPT_DAYS} days at least")
    return clock.now() - timedelta(days=min(days, MAX_KEPT_DAYS))


def expire_views(days: int | None = None, seconds: float | None = None, told: CountCallback = ignore) -> int:
    """Delete expired views, or as many as fit into ``seconds``. Return their number.

    days: the age of users' views, instead of ``SHOP_VIEW_DAYS``. ``told`` is called with the number of views after each
    slice, which is one transaction. Safe to run twice at once and to kill. Raises TooYoung.
    """
    deadline, total = Deadline(seconds), 0
    # Views without a user are of no use after the end of the visitor's session.
    oldest_session = clock.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    for expired in (Q(seen_at__lt=get_kept_since(days)), Q(user=None, seen_at__lt=oldest_session)):
        while not deadline.passed() and (count := _delete_slice(expired)):
            total += count
            told(count)
    return total


def _delete_slice(over: Q) -> int:
    """Delete the oldest of these views, except those that a login has assigned to a user meanwhile."""
    rows = _query_views().filter(over)
    ids = list(rows.order_by("seen_at").values_list("pk", flat=True)[:SLICE_SIZE])
    # The condition again, because a login may have assigned some of these views to a user.
    return rows.filter(pk__in=ids).delete()[0] if ids else 0


def _query_views() -> QuerySet[View]:
    return View.objects.using(setting("DATABASE"))
