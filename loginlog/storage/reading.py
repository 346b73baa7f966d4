"""Reading of logins: from Redis while it is complete, otherwise from SQL.

Months that end more than ``days.MIN_DAYS_IN_REDIS`` days ago may have expired: SQL is asked for those that have.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from django.utils.translation import gettext
from numpy.typing import NDArray

from accounts.models import User
from loginlog import days, keys
from loginlog.mirrors import NAME
from loginlog.storage import bitmaps, months, unions
from mirror.read import ask_sql, read
from mirror.redis import RedisPipeline

MAX_RANGE_DAYS: Final = 36_600  # days in a range
SPANS_PER_ROUND_TRIP: Final = 32  # spans per round trip
MAX_DAYS_UNBOUNDED: Final = 1500  # days; above this limit it is faster to ask SQL first which months have logins
Answers = list[bytes | int]  # a bitmap of dense ids, or a number of users


class Span(NamedTuple):
    """The days from ``first`` to ``last`` inclusive and a type; None means all types together."""

    first: date
    last: date
    user_type: str | None = None

    @property
    def types(self) -> list[str]:
        """Return the types of the span."""
        return list_types() if self.user_type is None else [self.user_type]

    def keys(self) -> list[str]:
        """Return the keys of the day bitmaps."""
        return [keys.day(day, kind) for kind in self.types for day in days.list_days(self.first, self.last)]


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

    Takes one round trip, even for forty years, and a query if months of the range may have expired.
    """
    wanted = [(month, kind) for month in days.list_months(*check_range(first, last)) for kind in list_types()]

    def ask(pipe: RedisPipeline) -> None:
        for month, kind in wanted:
            pipe.get(keys.month(month, kind, user_id))

    # No reader, here and below, because bitmaps of days and months are a mirror of their own kind: readers decode
    # records and members, and these are counted and combined in Redis.
    reading = read([NAME], ask)
    if reading is None:
        return ask_sql([NAME], lambda: months.read_of_user(user_id, first, last, expired_only=False))
    found: dict[date, int] = defaultdict(int)
    for (month, _), raw in zip(wanted, reading.replies, strict=True):
        found[month] |= bitmaps.parse_month(raw or b"")
    if first < days.first_complete_month():
        for month, bits in months.read_of_user(user_id, first, last, expired_only=True).items():
            found[month] |= bits
    return found


def count_users(spans: Sequence[Span]) -> list[int]:
    """Return the number of active users in each span. Where nothing can have expired, no bitmap is transferred."""
    return [
        bitmaps.count_bits(reply) if isinstance(reply, bytes) else reply for reply in _read_answers(spans, fetch=False)
    ]


def read_unions(spans: Sequence[Span]) -> list[bytes]:
    """Return the dense ids of the active users in each span, as bitmaps without trailing zeros."""
    return [bitmaps.strip_zeros(reply) for reply in _read_answers(spans, fetch=True) if isinstance(reply, bytes)]


def _read_answers(spans: Sequence[Span], *, fetch: bool) -> Answers:
    for span in spans:
        check_range(span.first, span.last)
    found: Answers = []
    for at in range(0, len(spans), SPANS_PER_ROUND_TRIP):
        part = _bound(spans[at : at + SPANS_PER_ROUND_TRIP])
        answers = _read_from_redis(part, fetch)
        if answers is None:
            answers = ask_sql([NAME], lambda part=part: _read_from_sql(part))  # type: ignore[misc]
        elif any(isinstance(answer, bytes) and _is_open(span) for span, answer in zip(part, answers, strict=True)):
            answers = _add_expired(part, answers)
        found += answers
    return found


def _is_open(span: Span) -> bool:
    """Return whether months of a span may have expired."""
    return span.first < days.first_complete_month()


def _bound(spans: Sequence[Span]) -> list[Span]:
    """Return the spans, and long ones without the months before the first and after the last login."""
    if sum((span.last - span.first).days for span in spans) <= MAX_DAYS_UNBOUNDED:
        return list(spans)
    limits = months.find_limits()
    if limits is None:
        return [span._replace(last=span.first) for span in spans]
    first, last = limits[0], days.last_day_of_month(limits[1])
    bounded = [span._replace(first=max(span.first, first), last=min(span.last, last)) for span in spans]
    # A span without any login keeps one day, because no span is empty.
    return [
        one if one.first <= one.last else span._replace(last=span.first)
        for span, one in zip(spans, bounded, strict=True)
    ]


def _add_expired(spans: Sequence[Span], answers: Answers) -> Answers:
    """Add the users of expired months to the bitmaps in these answers."""
    found = _read_numbers([span if _is_open(span) else None for span in spans], expired_only=True)
    return [
        answer
        if isinstance(answer, int) or not ids.size
        else bitmaps.from_positions(np.concatenate([bitmaps.list_positions(answer), ids]))
        for answer, ids in zip(answers, found, strict=True)
    ]


def _read_from_sql(spans: Sequence[Span]) -> Answers:
    return [bitmaps.from_positions(ids) for ids in _read_numbers(spans, expired_only=False)]


def _read_numbers(spans: Sequence[Span | None], *, expired_only: bool) -> list[NDArray[np.int64]]:
    """Return the dense ids of the active users in each span from SQL, with one query for all. They may be repeated."""
    wanted = [span for span in spans if span is not None]
    found: list[list[NDArray[np.int64]]] = [[np.zeros(0, dtype=np.int64)] for _ in spans]
    first, last = min(span.first for span in wanted), max(span.last for span in wanted)
    types = set(chain.from_iterable(span.types for span in wanted))
    for group in months.read_groups(first, last, types, expired_only=expired_only):
        for place, span in enumerate(spans):
            if span is not None and group.user_type in span.types:
                found[place].append(group.find_active(span.first, span.last))
    return [np.concatenate(parts) for parts in found]


def _read_from_redis(spans: Sequence[Span], fetch: bool) -> Answers | None:
    """Return an answer for each span, or None if SQL has to answer.

    An answer is a bitmap with ``fetch`` or if months may have expired, otherwise the number of users. Takes two round
    trips: the lengths of the bitmaps, so that bitmaps of equal length are OR-ed together, then the answers.
    """
    names = [span.keys() for span in spans]
    wanted = list(dict.fromkeys(chain.from_iterable(names)))
    sizes = read([NAME], lambda pipe: [pipe.strlen(name) for name in wanted])
    if sizes is None:
        return None
    lengths = {name: size for name, size in zip(wanted, sizes.replies, strict=True) if size}
    is_counted = [not fetch and not _is_open(span) for span in spans]
    if not lengths:
        return [0 if counted else b"" for counted in is_counted]
    positions: list[slice] = []  # of the replies for each span

    def ask(pipe: RedisPipeline) -> None:
        for of_span, counted in zip(names, is_counted, strict=True):
            existing = {name: lengths[name] for name in of_span if name in lengths}
            positions.append(unions.queue_union(pipe, existing, counted))

    found = read([NAME], ask)
    if found is None or found.generations != sizes.generations:  # lost meanwhile
        return None
    answers: Answers = []
    for position, counted in zip(positions, is_counted, strict=True):
        replies = found.replies[position]
        answers.append(sum(replies) if counted else b"".join(replies))
    return answers
