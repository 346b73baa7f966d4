"""Every reader of every declaration gives the same answer from Redis and from SQL."""

import random
from functools import partial
from typing import Final

import pytest
from redis import Redis

from mirror import registry
from mirror.declare.indexes import Index
from mirror.redis.keys.prefix import current
from tests.support import warm_mirrors
from tests.support.matrix.world import MatrixWorld
from tests.support.mirror.answers import Reader, compare, list_readers

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.also_on("sqlite")]
TRIES: Final = 4  # random arguments of each reader of each key
MAX_KEYS: Final = 6  # of each index


def find_keys(redis: Redis, index: Index) -> list[str]:
    """Return some keys of an index in Redis, and one that no row contributes to."""
    keys = {key.decode().removeprefix(current()) for key in redis.scan_iter(f"{index.template.start}*", count=10_000)}
    found = sorted(key for key in keys if index.template.match(key))[:MAX_KEYS]
    vacant = index.template.fill("999999", "999999", dict.fromkeys(index.template.names, "999999"))
    return [*found, vacant]


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
        asked += compare(readers)
    assert asked > 200
    assert compared == {
        f"{one.name} {index.key}"
        for one in registry.all_mirrors(warm_mirrors.SITE)
        for index in (one.layout.indexes if one.layout else ())
    }
