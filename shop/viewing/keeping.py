"""How long views are kept in SQL: as long as something is made of them, and no longer.

A stranger's are what their session's list is restored from, and are theirs when they log in: as long as such a list
lives (``SESSION_COOKIE_AGE``). A customer's say what is bought after a look: ``SHOP_VIEW_DAYS``, and recommendations
look no further back (``shop.recommend.history``), so it makes no difference to them when what is older goes. What is
looked at most is a matter of the last hours.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db.models import Q, QuerySet

from config import clock
from config.bulk import SLICE
from mirror.conf import setting
from mirror.relay import Deadline
from shop.models import View

LEAST_DAYS: Final = 31  # a week in which one may buy, the lists of sessions, and some time to spare
FOR_EVER_DAYS: Final = 100 * 365

Told = Callable[[int], object]


class TooYoung(ValueError):
    """They are needed for longer."""


def kept_since(days: int | None = None) -> datetime:
    """Customers' views from this moment on are kept. days: instead of ``SHOP_VIEW_DAYS``. Raises TooYoung."""
    days = settings.SHOP_VIEW_DAYS if days is None else days
    if days < LEAST_DAYS:
        raise TooYoung(f"views are kept for {LEAST_DAYS} days at least")
    return clock.now() - timedelta(days=min(days, FOR_EVER_DAYS))


def expire(days: int | None = None, seconds: float | None = None, told: Told = lambda count: None) -> int:
    """Delete views that are older than they are kept, or as many as fit in ``seconds``. Returns how many.

    days: customers' that are older, instead of ``SHOP_VIEW_DAYS``. ``told`` is called with the number of each slice, a
    transaction. Safe to run twice at once, and to kill. Raises TooYoung.
    """
    deadline, total = Deadline(seconds), 0
    strangers = clock.now() - timedelta(seconds=settings.SESSION_COOKIE_AGE)
    for over in (Q(seen_at__lt=kept_since(days)), Q(user=None, seen_at__lt=strangers)):
        while not deadline.passed() and (count := _slice(over)):
            total += count
            told(count)
    return total


def _slice(over: Q) -> int:
    """Delete the oldest of these. Whose they have become meanwhile, stay."""
    rows = _rows().filter(over)
    ids = list(rows.order_by("seen_at").values_list("pk", flat=True)[:SLICE])
    return rows.filter(pk__in=ids).delete()[0] if ids else 0


def _rows() -> QuerySet[View]:
    return View.objects.using(setting("DATABASE"))
