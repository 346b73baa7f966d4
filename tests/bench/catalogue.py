"""Compare rebuild and verify of a whole catalogue with the bare commands that write or read the same entries."""

from collections.abc import Iterator
from typing import Any

from redis import Redis

from catalog import keys
from catalog.models import Book, Tagging
from mirror import registry
from mirror.comparison import plan
from mirror.kinds import kind_of
from mirror.redis.clients import relay_client
from mirror.redis.session import Command
from mirror.upkeep import rebuild
from mirror.verify import runs
from tests.bench.table import Comparison

CHUNK = 1000
PIPE = 250
MIRRORS = ("book", "tag", "hidden_tag")


def comparisons() -> Iterator[Comparison]:
    """Yield the comparisons of rebuild and verify, after checking that both sides do the same work."""
    redis = relay_client()
    chunks = list(_commands())
    sizes = f"{Book.objects.count():,} books, {Tagging.objects.count():,} memberships"
    _same(redis, chunks)
    yield Comparison(
        "rebuild of the catalogue",
        "bare pipelined write of the same entries, grouped as well as can be",
        sizes,
        ours=_rebuild,
        theirs=lambda: _write(redis, chunks),
        target=0.5,
        before=redis.flushdb,
    )
    yield Comparison(
        "the same",
        "bare pipelined write, one command an entry",
        sizes,
        ours=_rebuild,
        theirs=lambda: _write(redis, _one_by_one(chunks)),
        before=redis.flushdb,
    )
    redis.flushdb()
    _rebuild()
    yield Comparison(
        "verify of the catalogue",
        "bare read of the same entries",
        sizes,
        ours=_verify,
        theirs=lambda: _read(redis),
        target=0.5,
    )


def _commands() -> Iterator[list[Command]]:
    """Yield the commands of a rebuild in chunks, prepared so that only sending them is measured."""
    for mirror in registry.all_mirrors(MIRRORS):
        shape, after = kind_of(mirror), None
        while pks := mirror.keys_after(after, CHUNK):
            targets, after = shape.targets(pks), pks[-1]
            entries = [entry for target in targets.values() for entry in target.entries]
            yield shape.write({pk: t.own for pk, t in targets.items()}) + plan.commands([], entries)


def _one_by_one(chunks: list[list[Command]]) -> Iterator[list[Command]]:
    """Yield the same commands split into one per entry, as a straightforward program would send them."""
    for chunk in chunks:
        single: list[Command] = []
        for name, *arguments in chunk:
            if name == "MSET":
                single += [("SET", *arguments[i : i + 2]) for i in range(0, len(arguments), 2)]
            elif name == "SADD":
                single += [(name, arguments[0], member) for member in arguments[1:]]
            else:
                single += [(name, arguments[0], *arguments[i : i + 2]) for i in range(1, len(arguments), 2)]
        yield single


def _write(redis: Redis, chunks: Any) -> None:
    for chunk in chunks:
        pipe = redis.pipeline(transaction=False)
        for command in chunk:
            pipe.execute_command(*command)
        pipe.execute()


def _read(redis: Redis) -> int:
    """Read all records by MGET and all sets and sorted sets, many per round trip. Return the number of entries."""
    found = list(redis.scan_iter(count=CHUNK))
    records = [key for key in found if key.startswith((keys.book("").encode(), keys.tag_record("").encode()))]
    sets = [key for key in found if key.startswith(keys.tag("").encode())]
    count = 0
    for start in range(0, len(records), CHUNK):
        count += len(redis.mget(records[start : start + CHUNK]))
    for start in range(0, len(sets), PIPE):
        pipe = redis.pipeline(transaction=False)
        for key in sets[start : start + PIPE]:
            pipe.smembers(key)
        count += sum(map(len, pipe.execute()))
    for key in (keys.popular(), keys.newest(), keys.titles(), keys.tag_names()):
        count += len(redis.zrange(key, 0, -1, withscores=True))
    return count


def _rebuild() -> None:
    rebuild.rebuild(MIRRORS)


def _verify() -> None:
    found = runs.verify(MIRRORS)
    assert not found, found[:5]


def _same(redis: Redis, chunks: list[list[Command]]) -> None:
    """Check that both sides write the same entries, and that the bare read reads all of them."""
    for chunk_list in (chunks, list(_one_by_one(chunks))):
        redis.flushdb()
        _write(redis, chunk_list)
        _verify()
    count = _read(redis)
    redis.flushdb()
    _rebuild()
    assert _read(redis) == count
