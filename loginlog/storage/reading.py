"""Reading of bitmaps: from Redis alone where it is complete, otherwise as the union of Redis and SQL.

Redis is complete from ``days.first_complete_month()`` on while the backup's marker proves that lost items were
restored. Every answer reads the marker first and last, in the same round trips. If Redis was lost in between, SQL is
asked as well.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence, Set
from datetime import date
from typing import Any, Final, NamedTuple

from django.utils.translation import gettext

from accounts.models import User
from loginlog import days, keys
from loginlog.storage import bitmaps, scripts, unions
from loginlog.storage import sql as store
from loginlog.storage.direct import owed_to_redis
from loginlog.storage.items import build_member
from mirror.backup import epoch
from mirror.redis import RedisClient, RedisPipeline, naming, try_redis
from mirror.relay import send

logger = logging.getLogger("loginlog")

MAX_RANGE_DAYS: Final = 36_600  # days in a range
SPANS_PER_ROUND_TRIP: Final = 32  # spans per round trip
NOT_ASKED: Final = date.min
MAX_DAYS_WITHOUT_MONTHS: Final = 1500  # days; above this limit it is faster to ask first for the months with bitmaps


class Span(NamedTuple):
    """The days from ``first`` to ``last`` inclusive and a type; None means all types together."""

    first: date
    last: date
    user_type: str | None = None

    @property
    def types(self) -> list[str]:
        """Return the types of the span."""
        return list_types() if self.user_type is None else [self.user_type]

    def keys(self, months: Set[str] | None = None) -> list[str]:
        """Return the keys of the day bitmaps, restricted to ``months`` (members of ``keys.months``) if given."""
        return [
            keys.day(day, kind)
            for month in days.list_months(self.first, self.last)
            for kind in self.types
            if months is None or build_member(month, kind) in months
            for day in days.list_days(max(month, self.first), min(days.last_day_of_month(month), self.last))
        ]


def list_types() -> list[str]:
    """Return all types of users."""
    return list(User.Type.values)


def check_range(first: date, last: date) -> tuple[date, date]:
    """Return the range unchanged. Raises ValueError if its ends are reversed or it exceeds a hundred years."""
    if last < first:
        text = gettext("the range ends (%(last)s) before it begins (%(first)s)")
        raise ValueError(text % {"first": first, "last": last})
    if (last - first).days >= MAX_RANGE_DAYS:
        raise ValueError(gettext("a range has at most 100 years"))
    return first, last


def read_months(user_id: int, first: date, last: date) -> dict[date, int]:
    """Return the bits of a user's login days of all types, by month (its first day).

    Takes one round trip, even for forty years.
    """
    wanted = [(month, kind) for month in days.list_months(*check_range(first, last)) for kind in list_types()]
    found: dict[date, int] = defaultdict(int)

    def ask(pipe: RedisPipeline) -> None:
        for month, kind in wanted:
            pipe.get(keys.month(month, kind, user_id))

    replies, since = _run_commands(ask)
    for (month, _), raw in zip(wanted, replies, strict=False):
        found[month] |= bitmaps.parse_month(raw or b"")
    if since is None or first < since:
        end = last if since is None else min(last, since - days.ONE_DAY)
        for month, bits in store.read_months_of_user(user_id, days.month_of(first), end):
            found[month] |= bits
    return found


def count_users(spans: Sequence[Span]) -> list[int]:
    """Return the number of active users in each span. Where Redis is complete, no bitmap is transferred."""
    return [bitmaps.count_bits(said) if isinstance(said, bytes) else said for said in _read_answers(spans, fetch=False)]


def read_unions(spans: Sequence[Span]) -> list[bytes]:
    """Return the dense ids of the active users in each span, as bitmaps without trailing zeros."""
    return [bitmaps.strip_zeros(said) for said in _read_answers(spans, fetch=True) if isinstance(said, bytes)]


def read_population() -> bytes:
    """Return the dense ids of all users that ever logged in and were not erased, as a bitmap."""
    sizes, _ = _run_commands(lambda pipe: pipe.strlen(keys.population()))
    replies, since = _run_commands(lambda pipe: unions.queue_fetch(pipe, keys.population(), sum(sizes)))
    return bitmaps.strip_zeros(b"".join(replies)) if since is not None else store.read_population()


def _read_answers(spans: Sequence[Span], *, fetch: bool) -> list[bytes | int]:
    for span in spans:
        check_range(span.first, span.last)
    found: list[bytes | int] = []
    for at in range(0, len(spans), SPANS_PER_ROUND_TRIP):
        part = spans[at : at + SPANS_PER_ROUND_TRIP]
        said, since = _read_from_redis(part, fetch)
        found += _merge_with_sql(part, said, since)
    return found


class _Wanted(NamedTuple):
    """Days and user types to read from SQL. bits: the bitmap of Redis, into which the days are merged."""

    first: date
    last: date
    types: set[str]
    bits: bytearray


def _merge_with_sql(spans: Sequence[Span], said: Sequence[bytes | int], since: date | None) -> list[bytes | int]:
    """Merge SQL's bitmaps into the answers of Redis for these spans, with one query for all.

    ``since`` is the first day for which Redis is complete; None: it is not.
    """
    known: list[bytearray | int] = [raw if isinstance(raw, int) else bytearray(raw) for raw in said]
    last = date.max if since is None else since - days.ONE_DAY
    wanted = [
        _Wanted(span.first, min(span.last, last), set(span.types), raw)
        for span, raw in zip(spans, known, strict=True)
        if isinstance(raw, bytearray) and span.first <= last
    ]
    if wanted:
        kinds = set[str]().union(*(each.types for each in wanted))
        rows = store.read_days(min(each.first for each in wanted), max(each.last for each in wanted), kinds)
        for item, bits in rows:
            for each in wanted:
                if each.first <= item.day <= each.last and item.user_type in each.types:
                    _merge_segment(each.bits, item.offset, bits)
    return [raw if isinstance(raw, int) else bytes(raw) for raw in known]


def _merge_segment(raw: bytearray, offset: int, bits: bytes) -> None:
    """OR a segment into a bitmap, which grows as needed."""
    raw.extend(bytes(max(0, offset + len(bits) - len(raw))))
    part = slice(offset, offset + len(bits))
    raw[part] = bitmaps.union([bytes(raw[part]), bits]).ljust(len(bits), b"\0")


def _read_from_redis(spans: Sequence[Span], fetch: bool) -> tuple[list[bytes | int], date | None]:
    """Return an answer for each span, and the first day for which Redis is complete (None: it is not).

    An answer is the number of set bits if Redis is complete and ``fetch`` is false, otherwise the bitmap. Takes two
    round trips: the lengths of the bitmaps, so that bitmaps of equal length are OR-ed together, then the answers. Long
    ranges take another one before them, for the months with bitmaps.
    """
    nothing: list[bytes | int] = [b""] * len(spans)
    names, since = _find_keys(spans)
    wanted = list(dict.fromkeys(name for of_span in names for name in of_span))
    sizes, then = _run_commands(lambda pipe: [pipe.strlen(name) for name in wanted])
    if len(sizes) != len(wanted):
        return nothing, None
    lengths = {name: size for name, size in zip(wanted, sizes, strict=True) if size}
    since = then if since in (then, NOT_ASKED) else None
    slots: list[tuple[bool, slice]] = []

    def ask(pipe: RedisPipeline) -> None:
        for span, of_span in zip(spans, names, strict=True):
            counted = not fetch and since is not None and span.first >= since
            slots.append((counted, unions.queue_union(pipe, {n: lengths[n] for n in of_span if n in lengths}, counted)))

    replies, still = _run_commands(ask)
    if len(slots) != len(spans) or (lengths and not replies):  # away
        return nothing, None
    said: list[bytes | int] = [sum(replies[s]) if counted else b"".join(replies[s]) for counted, s in slots]
    if still != since and any(counted for counted, _ in slots):  # lost meanwhile: SQL needs bitmaps
        return _read_from_redis(spans, fetch=True)
    return said, since if still == since else None


def _find_keys(spans: Sequence[Span]) -> tuple[list[list[str]], date | None]:
    """Return the keys of each span, and the first day for which Redis was complete (ALWAYS: it was not asked)."""
    if sum((span.last - span.first).days for span in spans) <= MAX_DAYS_WITHOUT_MONTHS:
        return [span.keys() for span in spans], NOT_ASKED
    found, since = _run_commands(lambda pipe: pipe.zrange(keys.months(), 0, -1))
    months = {name.decode() for reply in found for name in reply}
    return [span.keys(months) for span in spans], since


def _run_commands(add: Callable[[RedisPipeline], object]) -> tuple[list[Any], date | None]:
    """Run the commands that ``add`` queues in one round trip. Return the replies and the first complete month.

    The month is None if Redis is not complete. Return ([], None) if Redis is away or replies with an error.
    """

    def ask(redis: RedisClient) -> tuple[list[Any], date | None]:
        pipe = redis.pipeline(transaction=False)
        pipe.get(naming.restored(scripts.BACKUP_NAME))
        add(pipe)
        pipe.get(naming.restored(scripts.BACKUP_NAME))
        before, *replies, after = pipe.execute()
        whole = before == after and epoch.trusted(redis, [before])[0] and not owed_to_redis
        if before is None:
            send.sweep_soon()  # the sweep restores lost items
        return replies, days.first_complete_month() if whole else None

    return try_redis(ask, lambda: ([], None), logger)
