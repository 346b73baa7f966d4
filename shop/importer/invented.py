"""What the files do not say, made up: a function of who and what alone, so that it is the same each time.

A reader comes by in one to four spells, each some day of a year. To which of them a book belongs decides when it is
looked at (on the first day) and bought (after the first day: mostly within a week of the look, at times later).
"""

from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Final

END: Final = datetime(2026, 10, 1, tzinfo=UTC)  # before which all of it was
DAY: Final = 86_400
SPELLS: Final = 4  # at most
SPREAD: Final = 365  # days over which spells begin
SOON: Final = range(DAY + 3600, 6 * DAY)  # seconds from the beginning of a spell to a purchase
LATE: Final = range(9 * DAY, 20 * DAY)
LONGEST: Final = timedelta(seconds=LATE.stop)


def _number(*what: object) -> int:
    """A number that looks like chance, for these."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=8).digest(), "big")


def price(book: int) -> int:
    """Of the book with this number, in cents: 4.99 to 34.49."""
    return 499 + 50 * (_number("price", book) % 60)


def stock(book: int) -> int:
    """How many copies there are: of one in thirty none, of some a few."""
    number = _number("stock", book) % 60
    return number if number > 1 else 0


def _spell(user: int, book: int) -> datetime:
    count = 1 + _number("spells", user) % SPELLS
    day = _number("day", user, _number("spell", user, book) % count) % SPREAD
    return END - LONGEST - timedelta(days=1 + day)


def looked_at(user: int, book: int) -> datetime:
    """When a reader looked at a book."""
    return _spell(user, book) + timedelta(seconds=_number("look", user, book) % DAY)


def bought_at(user: int, book: int) -> datetime:
    """When a reader bought it: after they looked."""
    number = _number("buy", user, book)
    within = SOON if number % 10 < 7 else LATE
    return _spell(user, book) + timedelta(seconds=within[number // 10 % len(within)])


def finished_on(user: int, book: int) -> date:
    """When a reader had read it: 3 to 42 days after they bought it."""
    return (bought_at(user, book) + timedelta(days=3 + _number("read", user, book) % 40)).date()
