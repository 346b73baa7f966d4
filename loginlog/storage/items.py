"""Items of the backup: the bitmaps that are marked, flushed, logged and loaded, by name.

The name of an item is its key without the prefix. The name of a day ends in a segment
(``loginDay_2017-10-25_client:0``), so that a login marks 8 kB and not the whole day.
"""

from datetime import date
from functools import lru_cache
from typing import NamedTuple

from loginlog import keys
from loginlog.storage.bitmaps import SEGMENT_BYTES

MONTH_PREFIX, DAY_PREFIX, LOG_PREFIX = "loginLog_", "loginDay_", "loginlog:"
ERASED, POPULATION = "erased", "population"


class BadItem(ValueError):
    """A text that is not the name of a bitmap."""


class LoginMonth(NamedTuple):
    """A login month: the days of a month on which a user logged in as a user of one type."""

    month: date
    user_type: str
    user_id: int

    @property
    def name(self) -> str:
        """Return the name of the item."""
        return f"{MONTH_PREFIX}{self.month.isoformat()[:7]}_{self.user_type}_{self.user_id}"

    @property
    def key(self) -> str:
        """Return the key of the bitmap in Redis."""
        return keys.month(self.month, self.user_type, self.user_id)

    @property
    def member(self) -> str:
        """Return the member of ``keys.months`` for the month and type."""
        return build_member(self.month, self.user_type)


class DaySegment(NamedTuple):
    """A part of a login day: 65,536 dense ids of the users that logged in on a day as users of one type."""

    day: date
    user_type: str
    segment: int

    @property
    def name(self) -> str:
        """Return the name of the item."""
        return f"{DAY_PREFIX}{self.day}_{self.user_type}:{self.segment}"

    @property
    def key(self) -> str:
        """Return the key of the day's bitmap in Redis."""
        return keys.day(self.day, self.user_type)

    @property
    def offset(self) -> int:
        """Return the position of the segment in the bitmap, in bytes."""
        return self.segment * SEGMENT_BYTES

    @property
    def member(self) -> str:
        """Return the member of ``keys.months`` for the day's month and type."""
        return build_member(self.day, self.user_type)


class DenseIdSegment(NamedTuple):
    """65,536 dense ids of all users that ever logged in ("population"), or of erased users ("erased")."""

    kind: str
    segment: int

    @property
    def name(self) -> str:
        """Return the name of the item."""
        return f"{LOG_PREFIX}{self.kind}:{self.segment}"

    @property
    def key(self) -> str:
        """Return the key of the bitmap in Redis."""
        return keys.population() if self.kind == POPULATION else keys.erased()

    @property
    def offset(self) -> int:
        """Return the position of the segment in the bitmap, in bytes."""
        return self.segment * SEGMENT_BYTES

    @property
    def member(self) -> str:
        """Return "", because these items belong to no month."""
        return ""


Item = LoginMonth | DaySegment | DenseIdSegment


@lru_cache(maxsize=4096)  # a flush asks for each name several times
def parse_item(name: str) -> Item:
    """Return the item with this name. Raises BadItem."""
    try:
        if name.startswith(MONTH_PREFIX):
            month, rest = name[len(MONTH_PREFIX) :].split("_", 1)
            user_type, user_id = rest.rsplit("_", 1)
            return _check_name(name, LoginMonth(date.fromisoformat(f"{month}-01"), user_type, int(user_id)))
        if name.startswith(DAY_PREFIX):
            day, rest = name[len(DAY_PREFIX) :].split("_", 1)
            user_type, segment = rest.rsplit(":", 1)
            return _check_name(name, DaySegment(date.fromisoformat(day), user_type, int(segment)))
        if name.startswith((f"{LOG_PREFIX}{ERASED}:", f"{LOG_PREFIX}{POPULATION}:")):
            kind, segment = name[len(LOG_PREFIX) :].split(":", 1)
            return _check_name(name, DenseIdSegment(kind, int(segment)))
    except ValueError:
        pass
    raise BadItem(f"{name!r} is not the name of a bitmap")


def _check_name(name: str, item: Item) -> Item:
    if item.name != name or (not isinstance(item, DenseIdSegment) and not item.user_type):
        raise ValueError(name)
    return item


def build_member(day: date, user_type: str) -> str:
    """Return the member of ``keys.months`` for a day's month and a type."""
    return f"{day.isoformat()[:7]}_{user_type}"


def parse_member(text: str) -> tuple[date, str]:
    """Return the month and the type of a member that ``member`` built."""
    month, user_type = text.split("_", 1)
    return date.fromisoformat(f"{month}-01"), user_type
