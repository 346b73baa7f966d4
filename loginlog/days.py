"""Days and months of the site's business: all in the one time zone ``settings.TIME_ZONE``, whatever a visitor's is."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final

from django.utils import timezone

from config import clock

A_DAY = timedelta(days=1)
LEAST_DAYS: Final = 31  # no bitmap that is younger is ever removed from Redis


def today() -> date:
    """The present day in the site's time zone."""
    return day_of(clock.now())


def day_of(at: date | datetime) -> date:
    """The day in the site's time zone in which a moment (an aware datetime) lies; a date is itself.

    Raises ValueError for a datetime without a time zone.
    """
    if not isinstance(at, datetime):
        return at
    if timezone.is_naive(at):
        raise ValueError(f"{at} has no time zone: which day it is cannot be said")
    return at.astimezone(timezone.get_default_timezone()).date()


def month_of(day: date) -> date:
    """The first day of a day's month."""
    return day.replace(day=1)


def next_month(month: date) -> date:
    """The first day of the month after."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


def last_of(month: date) -> date:
    """The last day of a month."""
    return next_month(month_of(month)) - A_DAY


def days(first: date, last: date) -> list[date]:
    """All days from ``first`` to ``last``, both included. None if the range is empty."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def months(first: date, last: date) -> list[date]:
    """The first days of all months that have a day from ``first`` to ``last``."""
    return list(_months(first, last))


def _months(first: date, last: date) -> Iterator[date]:
    month = month_of(first)
    while month <= last:
        yield month
        month = next_month(month)


def floor() -> date:
    """The first month of which nothing can have expired, one day to spare: another process may be in tomorrow."""
    return month_of(today() - timedelta(days=LEAST_DAYS - 1))
