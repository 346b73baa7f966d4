"""Made-up values that the files do not have. Each is a function of reader and book alone, so all runs agree.

So each rating is an order of its own: an order for each day would have to be reopened by a run with more books.

A reader visits the site in one to four spells, each on some day of a year. The spell of a book decides the times: the
view is on its first day, and the purchase follows, mostly within a week of the view, sometimes later.
"""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b
from typing import Final

HISTORY_END: Final = datetime(2026, 10, 1, tzinfo=UTC)  # all views and purchases are earlier
DAY_SECONDS: Final = 86_400
MAX_SPELLS: Final = 4  # largest number of spells of a reader
SPREAD_DAYS: Final = 365  # days over which spells begin
SOON_SECONDS: Final = range(DAY_SECONDS + 3600, 6 * DAY_SECONDS)  # seconds from the start of a spell to a purchase
LATE_SECONDS: Final = range(9 * DAY_SECONDS, 20 * DAY_SECONDS)
MAX_DELAY: Final = timedelta(seconds=LATE_SECONDS.stop)


def _hash_to_number(*what: object) -> int:
    """Return a pseudo-random number for these values."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=8).digest(), "big")


@lru_cache(maxsize=20_000)
def invent_price(book: int) -> int:
    """Return the price of the book with this number, in cents: 499 to 3449."""
    return 499 + 50 * (_hash_to_number("price", book) % 60)


def invent_stock(book: int) -> int:
    """Return the stock of a book: none for one in thirty, few for some."""
    number = _hash_to_number("stock", book) % 60
    return number if number > 1 else 0


# One row asks for several times of the same pair, and rows come ordered by reader.
@lru_cache(maxsize=16)
def _invent_spell_start(user: int, book: int) -> datetime:
    spell = _hash_to_number("spell", user, book) % _invent_spell_count(user)
    return _invent_spell_day(user, spell)


@lru_cache(maxsize=16)
def _invent_spell_count(user: int) -> int:
    return 1 + _hash_to_number("spells", user) % MAX_SPELLS


@lru_cache(maxsize=16 * MAX_SPELLS)
def _invent_spell_day(user: int, spell: int) -> datetime:
    day = _hash_to_number("day", user, spell) % SPREAD_DAYS
    return HISTORY_END - MAX_DELAY - timedelta(days=1 + day)


def invent_view_time(user: int, book: int) -> datetime:
    """Return the time at which a reader viewed a book."""
    return _invent_spell_start(user, book) + timedelta(seconds=_hash_to_number("look", user, book) % DAY_SECONDS)


@lru_cache(maxsize=16)
def invent_purchase_time(user: int, book: int) -> datetime:
    """Return the time at which a reader bought a book, after the view."""
    number = _hash_to_number("buy", user, book)
    within = SOON_SECONDS if number % 10 < 7 else LATE_SECONDS
    return _invent_spell_start(user, book) + timedelta(seconds=within[number // 10 % len(within)])


def invent_finish_date(user: int, book: int) -> date:
    """Return the day on which a reader finished a book, 3 to 42 days after the purchase."""
    return (invent_purchase_time(user, book) + timedelta(days=3 + _hash_to_number("read", user, book) % 40)).date()
