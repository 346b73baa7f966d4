"""Times in the outbox's columns, which depend on ``USE_TZ``.

With it they have a time zone. Without it PostgreSQL stores the local time of Django's connection, and SQLite UTC.
"""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import connections

from mirror.conf import setting

REPEATED: Final = timedelta(hours=2)  # more than the hour that local time repeats in autumn


def to_bound(seconds: float) -> datetime:
    """Return a time for comparisons with these columns, which no later time is below.

    seconds: since 1970. Local time repeats an hour in autumn, so the bound is earlier by more than that.
    """
    zone = _find_zone()
    moment = datetime.fromtimestamp(seconds, tz=UTC)
    if settings.USE_TZ:
        return moment
    local = moment.astimezone(zone).replace(tzinfo=None)
    return local if zone is UTC else local - REPEATED


def to_seconds(moment: datetime) -> float:
    """Return a time of these columns in seconds since 1970."""
    if not settings.USE_TZ:
        moment = moment.replace(tzinfo=_find_zone())
    return moment.timestamp()


def to_text(moment: datetime) -> str:
    """Return a time of these columns in ISO format, in UTC."""
    return datetime.fromtimestamp(to_seconds(moment), tz=UTC).isoformat()


def _find_zone() -> tzinfo:
    """Return the time zone of times without one."""
    connection = connections[setting("DATABASE")]
    if settings.USE_TZ or connection.vendor != "postgresql" or connection.timezone_name == "UTC":
        return UTC
    return ZoneInfo(connection.timezone_name)
