"""Days and months of the login log, always in the time zone ``settings.TIME_ZONE``, not in the visitor's."""

from collections.abc import Iterator
from datetime import date, datetime, timedelta
from typing import Final

from django.utils import timezone

from common import clock

ONE_DAY = timedelta(days=1)
MIN_DAYS_IN_REDIS: Final = 31  # bitmaps younger than this never expire from Redis


def today() -> date:
    """Return the current day in the site's time zone."""
    return day_of(clock.now())


def day_of(at: date | datetime) -> date:
    """Return the day of an aware datetime in the site's time zone; return a date unchanged.

    Raises ValueError for a datetime without a time zone.
    """
    if not isinstance(at, datetime):
        return at
    if timezone.is_naive(at):
        raise ValueError(f"{at} has no time zone: its day is undefined")
    return at.astimezone(timezone.get_default_timezone()).date()


def month_of(day: date) -> date:
    """Return the first day of a day's month."""
    return day.replace(day=1)


def next_month(month: date) -> date:
    """Return the first day of the next month."""
    return date(month.year + month.month // 12, month.month % 12 + 1, 1)


def last_day_of_month(month: date) -> date:
    """Return the last day of a month."""
    return next_month(month_of(month)) - ONE_DAY


def list_days(first: date, last: date) -> list[date]:
    """Return all days from ``first`` to ``last`` inclusive; an empty list if the range is empty."""
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def list_days_of_month(month: date, first: date, last: date) -> list[date]:
    """Return the days of a month from ``first`` to ``last`` inclusive."""
    return list_days(max(month, first), min(last_day_of_month(month), last))


def list_months(first: date, last: date) -> list[date]:
    """Return the first day of each month that has a day from ``first`` to ``last``."""
    return list(_iterate_months(first, last))


def _iterate_months(first: date, last: date) -> Iterator[date]:
    month = month_of(first)
    while month <= last:
        yield month
        month = next_month(month)


def first_complete_month() -> date:
    """Return the first month without expired bitmaps. One day is to spare, since another process may be in tomorrow."""
    return month_of(today() - timedelta(days=MIN_DAYS_IN_REDIS - 1))
