"""Every reader of every declaration gives the same answer from Redis and from SQL."""

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import pytest
from redis import Redis

from mirror import Alphabetical, Lookup, Mirror, Ranking, SetOf, registry
from mirror.declare.indexes import Index
from mirror.redis.keys.prefix import current
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from tests.support import warm_mirrors
from tests.support.matrix.world import MatrixWorld

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
Reader = Callable[[], Any]
TRIES: Final = 4  # random arguments of each reader of each key
MAX_KEYS: Final = 6  # of each index


def find_keys(redis: Redis, index: Index) -> list[str]:
    """Return some keys of an index in Redis, and one that no row contributes to."""
    keys = {key.decode().removeprefix(current()) for key in redis.scan_iter(f"{index.template.start}*", count=10_000)}
    found = sorted(key for key in keys if index.template.match(key))[:MAX_KEYS]
    vacant = index.template.fill("999999", "999999", dict.fromkeys(index.template.names, "999999"))
    return [*found, vacant]


def list_readers(
    mirror: type[Mirror[Any]], index: Index, key: str, rows: list[str], dice: random.Random
) -> Iterator[Reader]:
    """Yield readers of a structure with random arguments. rows: keys of rows, of which some are members."""
    some = dice.sample(rows, min(len(rows), 5))
    count, start = dice.randint(0, 6), dice.randint(0, 3)
    if isinstance(index, (SetOf, Ranking, Alphabetical)):
        yield partial(mirror.count, key)
    if isinstance(index, SetOf):
        yield partial(mirror.members, key)
        yield partial(mirror.union, key, key)
        if index.member == "{pk}":
            yield partial(mirror.filter_members, key, some)
    if isinstance(index, Ranking):
        places, descending = mirror.page(key, 20), bool(dice.getrandbits(1))
        yield partial(mirror.top, key, count, start)
        yield partial(mirror.bottom, key, count, start)
        yield partial(mirror.scores, key, some)
        yield partial(mirror.rank, key, some[0] if some else "1")
        yield partial(mirror.page, key, count, descending=descending)
        if places:
            after, low, high = (dice.choice(places) for _ in range(3))
            yield partial(mirror.page, key, count, after=after, descending=descending)
            yield partial(mirror.page, key, count, low=low.score, high=high.score, descending=descending)
            yield partial(mirror.count, key, low=low.score, high=high.score)
    if isinstance(index, Alphabetical):
        names, descending = mirror.names(key, 20), bool(dice.getrandbits(1))
        yield partial(mirror.names, key, count, descending=descending)
        if names:
            name = dice.choice(names)
            yield partial(mirror.names, key, count, after=name, descending=descending)
            yield partial(mirror.names, key, count, prefix=name.text[: dice.randint(0, 3)], descending=descending)
    if isinstance(index, Lookup):
        yield partial(mirror.find, key)


def test_redis_and_sql_give_equal_answers(redis: Redis) -> None:
    MatrixWorld()
    warm_mirrors.rebuild()
    dice, asked, compared = random.Random(39), 0, set[str]()
    for declared in registry.all_mirrors(warm_mirrors.SITE):
        mirror = type(declared)
        rows = declared.keys_after(None, 20)
        indexes = declared.layout.indexes if declared.layout else ()
        readers: list[Reader] = [partial(mirror.get_many, [*rows, "999999"])] if declared.has_record else []
        for index in indexes:
            for key in find_keys(redis, index):
                for _ in range(TRIES):
                    readers += list_readers(mirror, index, key, rows, dice)
                compared.add(f"{mirror.name} {index.key}")
        for reader in readers:
            with record() as seen:
                by_redis = reader()
            with sql_only():
                assert reader() == by_redis, reader
            assert not seen.sql, (reader, seen.sql)
            asked += 1
    assert asked > 200
    assert compared == {
        f"{one.name} {index.key}"
        for one in registry.all_mirrors(warm_mirrors.SITE)
        for index in (one.layout.indexes if one.layout else ())
    }
