"""How facts of users are written in Redis, for who writes them there and who gives the same by SQL."""

from datetime import UTC, datetime


def time_text(moment: datetime | None) -> str:
    """ISO 8601 in UTC; "" for never."""
    return moment.astimezone(UTC).isoformat() if moment else ""
