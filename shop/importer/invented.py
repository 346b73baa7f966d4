"""Made-up values that the files do not have. Each is a function of reader and book alone, so all runs agree.

A reader visits the site in one to four spells, each on some day of a year. The spell of a book decides the times: the
view is on its first day, and the purchase follows, mostly within a week of the view, sometimes later.
"""

from datetime import UTC, date, datetime, timedelta
from hashlib import blake2b
from typing import Final

END: Final = datetime(2026, 10, 1, tzinfo=UTC)  # all views and purchases are earlier
DAY: Final = 86_400
SPELLS: Final = 4  # largest number of spells of a reader
SPREAD: Final = 365  # days over which spells begin
SOON: Final = range(DAY + 3600, 6 * DAY)  # seconds from the start of a spell to a purchase
LATE: Final = range(9 * DAY, 20 * DAY)
LONGEST: Final = timedelta(seconds=LATE.stop)


def _number(*what: object) -> int:
    """Return a pseudo-random number for these values."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=8).digest(), "big")


def price(book: int) -> int:
    """Return the price of the book with this number, in cents: 499 to 3449."""
    return 499 + 50 * (_number("price", book) % 60)


def stock(book: int) -> int:
    """Return the stock of a book: none for one in thirty, few for some."""
    number = _number("stock", book) % 60
    return number if number > 1 else 0


def _spell(user: int, book: int) -> datetime:
    count = 1 + _number("spells", user) % SPELLS
    day = _number("day", user, _number("spell", user, book) % count) % SPREAD
    return END - LONGEST - timedelta(days=1 + day)


def looked_at(user: int, book: int) -> datetime:
    """Return the time at which a reader viewed a book."""
    return _spell(user, book) + timedelta(seconds=_number("look", user, book) % DAY)


def bought_at(user: int, book: int) -> datetime:
    """Return the time at which a reader bought a book, after the view."""
    number = _number("buy", user, book)
    within = SOON if number % 10 < 7 else LATE
    return _spell(user, book) + timedelta(seconds=within[number // 10 % len(within)])


def finished_on(user: int, book: int) -> date:
    """Return the day on which a reader finished a book, 3 to 42 days after the purchase."""
    return (bought_at(user, book) + timedelta(days=3 + _number("read", user, book) % 40)).date()
