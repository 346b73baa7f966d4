"""Read all entries of a mirror's index from Redis in small steps, and decode its feed."""

from collections.abc import Generator

import orjson

from mirror.comparison import plan
from mirror.declare.entries import Contribution, Entry
from mirror.declare.mirrors import Mirror
from mirror.redis.types import RedisClient
from mirror.utils import json_texts

STEP = 250  # rows per command; at a kilobyte each, Redis needs much less than a millisecond


def entries(redis: RedisClient, mirror: Mirror, rows: str) -> Generator[Contribution, None, None]:
    """Yield all entries of a mirror, derived from its records, many of which one command reads.

    rows: a sorted set with every row's key as a member.
    """
    for pks in _list_pks(redis, rows):
        keys = [mirror.record_key(pk) for pk in pks]
        records = redis.mget(keys)
        for pk, record in zip(pks, records, strict=True):
            # Without a record the row was deleted meanwhile.
            if record is not None:
                yield from mirror.index(pk, json_texts.decode(record))


def _list_pks(redis: RedisClient, rows: str) -> Generator[list[str], None, None]:
    """Yield the rows' keys in lists, without duplicates."""
    seen: set[bytes] = set()  # ZSCAN may return a member twice
    cursor = 0
    while True:
        cursor, found = redis.zscan(rows, cursor, count=STEP)
        fresh = [member for member, _ in found if member not in seen]
        seen.update(fresh)
        # ZSCAN returns a small set at once, whatever the COUNT.
        for start in range(0, len(fresh), STEP):
            batch = fresh[start : start + STEP]
            yield [member.decode() for member in batch]
        if cursor == 0:
            return


def decode_feed(encoded: bytes) -> Generator[tuple[bool, Entry], None, None]:
    """Decode the result of ``plan.encode_feed``: whether it was added (or removed), and the entry, in order."""
    for op, kind, *parts in orjson.loads(encoded):
        # An infinite score is text, because JSON has none.
        if kind == "zset" and isinstance(parts[2], str):
            parts[2] = float(parts[2])
        entry = plan.from_list([kind, *parts])
        yield op == 1, entry


def number(entry_id: bytes) -> tuple[int, int]:
    """Return the id of a stream entry in a form that can be compared."""
    milliseconds, _, sequence = entry_id.partition(b"-")
    return int(milliseconds), int(sequence)
