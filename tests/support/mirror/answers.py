"""Readers of a structure with random arguments, of which Redis and SQL have to give equal answers."""

import math
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from typing import Any, Final

from mirror import Alphabetical, Lookup, Mirror, Name, Place, Ranking, SetOf
from mirror.declare.indexes import Index
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only

Reader = Callable[[], Any]
# Of any ranking, whatever its scores are: beyond all values of its column, and between two of them
BOUNDS: Final = (
    None, -math.inf, math.inf, -1e20, 1e20, -1.5, -0.0, 0, 0.5, 2.5, Decimal("0.005"), Decimal("1e30"), 2**53 + 1,
    253402300800.0, date.min, date.max, date(2026, 1, 1), datetime(2026, 1, 1, 13, 30, tzinfo=UTC),
    datetime(1600, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC),
)  # fmt: skip


def list_readers(
    mirror: type[Mirror[Any]], index: Index, key: str, rows: list[str], dice: random.Random
) -> Iterator[Reader]:
    """Yield readers of a structure with random arguments. rows: keys of rows, of which some are members."""
    some = dice.sample(rows, min(len(rows), 5))
    if isinstance(index, (SetOf, Ranking, Alphabetical)):
        yield partial(mirror.count, key)
    if isinstance(index, SetOf):
        yield partial(mirror.members, key)
        yield partial(mirror.union, key, key)
        if index.member == "{pk}":
            yield partial(mirror.filter_members, key, some)
    if isinstance(index, Ranking):
        yield from list_rankings(mirror, key, some, dice)
    if isinstance(index, Alphabetical):
        yield from list_names(mirror, key, dice)
    if isinstance(index, Lookup):
        yield partial(mirror.find, key)


def list_rankings(mirror: type[Mirror[Any]], key: str, rows: list[str], dice: random.Random) -> Iterator[Reader]:
    """Yield readers of a ranking."""
    places, descending = mirror.page(key, 20), bool(dice.getrandbits(1))
    count, start = dice.randint(0, 6), dice.randint(0, 3)
    scores = [place.score for place in places]
    low, high = (dice.choice([*BOUNDS, *scores]) for _ in range(2))
    page = partial(mirror.page, key, count, descending=descending)
    yield partial(mirror.top, key, count, start)
    yield partial(mirror.bottom, key, count, start)
    yield partial(mirror.scores, key, rows)
    yield partial(mirror.rank, key, rows[0] if rows else "1")
    yield page
    yield partial(page, low=low, high=high)
    yield partial(mirror.count, key, low=low, high=high)
    yield partial(mirror.counts, key, [*scores, 0.3, -1.5, 2.5, math.inf, -math.inf])
    yield partial(walk, partial(mirror.page, key, dice.randint(1, 4), descending=descending))
    score = dice.choice([*scores, -math.inf, math.inf, 1e20])
    yield partial(page, after=Place(dice.choice([*rows, "vacant\0"]), score))
    if places:
        yield partial(page, after=dice.choice(places), low=low, high=high)


def list_names(mirror: type[Mirror[Any]], key: str, dice: random.Random) -> Iterator[Reader]:
    """Yield readers of names."""
    found, descending = mirror.names(key, 20), bool(dice.getrandbits(1))
    read = partial(mirror.names, key, dice.randint(0, 6), descending=descending)
    yield read
    yield partial(walk, partial(mirror.names, key, dice.randint(1, 4), descending=descending))
    for text, pk in dice.sample(found, min(len(found), 1)):
        start = text[: dice.randint(0, 3)]
        yield partial(read, after=Name(text, pk))
        yield partial(read, prefix=start)
        yield partial(read, prefix=start, after=Name(text, pk))
        for behind in ("", str(pk)[: dice.randint(1, 9)], "\0", "é"):
            yield partial(read, prefix=f"{text}\0{behind}")
            yield partial(read, after=Name(f"{text}\0{behind}", pk))


def walk(read: Callable[..., list[Any]]) -> list[Any]:
    """Return the places or names of all pages, of which none may be repeated."""
    seen: list[Any] = []
    while part := read(after=seen[-1] if seen else None):
        seen += part
        assert len(set(seen)) == len(seen), part
    return seen


def compare(readers: Iterable[Reader]) -> int:
    """Check that Redis, without SQL, and SQL give the same answers. Return the number of readers."""
    asked = 0
    for reader in readers:
        with record() as seen:
            by_redis = reader()
        with sql_only():
            assert reader() == by_redis, reader
        assert not seen.sql, (reader, seen.sql)
        asked += 1
    return asked
