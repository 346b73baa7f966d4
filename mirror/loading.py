"""Reading everything that a mirror's index places in Redis, in small steps, and what its feed says since."""

from collections.abc import Generator
from typing import Any

import orjson

from mirror import plan
from mirror.declare import Mirror
from mirror.entries import Contribution, Entry

STEP = 250  # rows a command: at a kilobyte each that takes Redis well below a millisecond


def entries(redis: Any, mirror: Mirror, rows: str) -> Generator[Contribution, None, None]:
    """All entries, worked out from the records: they account for every one, and one command reads many.

    rows: a sorted set that has every row's key as a member.
    """
    for pks in _pks(redis, rows):
        for record in redis.mget([mirror.key(pk) for pk in pks]):
            if record is not None:  # else it went meanwhile
                yield from mirror.index(orjson.loads(record))


def _pks(redis: Any, rows: str) -> Generator[list[str], None, None]:
    """The rows' keys in steps, each once."""
    seen: set[bytes] = set()
    cursor: Any = 0
    while True:
        cursor, found = redis.zscan(rows, cursor, count=STEP)
        fresh = [member for member, _ in found if member not in seen]
        seen.update(fresh)
        for start in range(0, len(fresh), STEP):  # a small set comes whole, whatever is asked
            yield [member.decode() for member in fresh[start : start + STEP]]
        if not int(cursor):
            return


def news_of(told: bytes) -> Generator[tuple[bool, Entry], None, None]:
    """What ``plan.news`` wrote: whether it is added (else removed), and the entry, in order."""
    for op, kind, *parts in orjson.loads(told):
        if kind == "zset" and isinstance(parts[2], str):
            parts[2] = float(parts[2])
        yield op == 1, plan.from_list([kind, *parts])


def number(entry_id: bytes) -> tuple[int, int]:
    """The id of a stream's entry, as it compares."""
    milliseconds, _, sequence = entry_id.partition(b"-")
    return int(milliseconds), int(sequence)
