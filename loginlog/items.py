"""Bitmaps by name: what is marked, flushed, logged and loaded. A name is a key's, without the prefix; a day's has its
segment behind it (``loginDay_2017-10-25_client:0``), so that a login dirties 8 kB and not the whole day.
"""

from datetime import date
from functools import lru_cache
from typing import NamedTuple

from loginlog import keys
from loginlog.bitmaps import SEGMENT_BYTES

MONTH, DAY, ALL = "loginLog_", "loginDay_", "loginlog:"
ERASED, POPULATION = "erased", "population"


class BadItem(ValueError):
    """Something that is not the name of a bitmap."""


class Month(NamedTuple):
    """The days on which a user logged in in a month, as a user of one type."""

    month: date
    user_type: str
    user_id: int

    @property
    def name(self) -> str:
        """As it is marked."""
        return f"{MONTH}{self.month.isoformat()[:7]}_{self.user_type}_{self.user_id}"

    @property
    def key(self) -> str:
        """As it is in Redis."""
        return keys.month(self.month, self.user_type, self.user_id)

    @property
    def member(self) -> str:
        """Its month and type, in ``keys.months``."""
        return member(self.month, self.user_type)


class Segment(NamedTuple):
    """65,536 numbers of those who logged in on a day as users of one type."""

    day: date
    user_type: str
    segment: int

    @property
    def name(self) -> str:
        """As it is marked."""
        return f"{DAY}{self.day}_{self.user_type}:{self.segment}"

    @property
    def key(self) -> str:
        """The day's bitmap in Redis."""
        return keys.day(self.day, self.user_type)

    @property
    def offset(self) -> int:
        """Where it begins in the bitmap, in bytes."""
        return self.segment * SEGMENT_BYTES

    @property
    def member(self) -> str:
        """Its month and type, in ``keys.months``."""
        return member(self.day, self.user_type)


class Numbers(NamedTuple):
    """65,536 numbers of those who ever logged in ("population"), or of those who were erased ("erased")."""

    kind: str
    segment: int

    @property
    def name(self) -> str:
        """As it is restored."""
        return f"{ALL}{self.kind}:{self.segment}"

    @property
    def key(self) -> str:
        """The bitmap in Redis."""
        return keys.population() if self.kind == POPULATION else keys.erased()

    @property
    def offset(self) -> int:
        """Where it begins in the bitmap, in bytes."""
        return self.segment * SEGMENT_BYTES

    @property
    def member(self) -> str:
        """It is of no month."""
        return ""


Item = Month | Segment | Numbers


@lru_cache(maxsize=4096)  # a flush asks for each name several times
def parse(name: str) -> Item:
    """The bitmap that bears this name. Raises BadItem."""
    try:
        if name.startswith(MONTH):
            month, rest = name[len(MONTH) :].split("_", 1)
            user_type, user_id = rest.rsplit("_", 1)
            return _checked(name, Month(date.fromisoformat(f"{month}-01"), user_type, int(user_id)))
        if name.startswith(DAY):
            day, rest = name[len(DAY) :].split("_", 1)
            user_type, segment = rest.rsplit(":", 1)
            return _checked(name, Segment(date.fromisoformat(day), user_type, int(segment)))
        if name.startswith((f"{ALL}{ERASED}:", f"{ALL}{POPULATION}:")):
            kind, segment = name[len(ALL) :].split(":", 1)
            return _checked(name, Numbers(kind, int(segment)))
    except ValueError:
        pass
    raise BadItem(f"{name!r} is not the name of a bitmap")


def _checked(name: str, item: Item) -> Item:
    if item.name != name or (not isinstance(item, Numbers) and not item.user_type):
        raise ValueError(name)
    return item


def member(day: date, user_type: str) -> str:
    """Month and type in one word."""
    return f"{day.isoformat()[:7]}_{user_type}"


def parse_member(text: str) -> tuple[date, str]:
    """The month and the type that ``member`` put together."""
    month, user_type = text.split("_", 1)
    return date.fromisoformat(f"{month}-01"), user_type
