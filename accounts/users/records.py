"""Formats of values in records, shared by the mirrors and the fallbacks."""

from datetime import UTC, datetime


def format_time(moment: datetime | None) -> str:
    """Return a time in ISO 8601 and UTC; "" for None."""
    return moment.astimezone(UTC).isoformat() if moment else ""
