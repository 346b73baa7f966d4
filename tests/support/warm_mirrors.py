"""Warm mirrors quickly: those of the site, or those of the mirror's own tests."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connections
from redis import Redis

from mirror import registry
from mirror.comparison import scan
from mirror.declare.mirrors import Mirror
from mirror.kinds import kind_of
from mirror.models import Change, State
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.relay import drains, hints
from mirror.testing.warm import find_filled_tables, list_readers, make_warm
from mirror.upkeep import heartbeat, replay
from mirror.upkeep import rebuild as mirror_rebuild
from mirror.warm import marker

OWN = [mirror.name for mirror in registry.all_mirrors() if type(mirror).__module__.startswith("tests.")]
SITE = [mirror.name for mirror in registry.all_mirrors() if mirror.name not in OWN]
ALL = [*SITE, *OWN]


def rebuild(names: Iterable[str] = SITE) -> None:
    """Make these mirrors warm, by default those of the site, in the state in which a rebuild leaves them.

    A rebuild takes several milliseconds of bookkeeping for each mirror, and thousands of tests need warm mirrors.
    Mirrors that are new therefore get one drain of their rows and their marker. The others are rebuilt.
    """
    names, redis = list(names), relay_client()
    replay.check(redis)
    new = _find_new(names, redis)
    make_warm(new, redis)
    done = {mirror.name for mirror in new}
    if left := [name for name in names if name not in done]:
        mirror_rebuild.rebuild(left)
    heartbeat.beat(redis)


@contextmanager
def without_drains() -> Iterator[None]:
    """Drain nothing after the commits in this block: a rebuild that follows writes all rows at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hints, "flush", hints._due.take_all)
        yield


def catch_up() -> None:
    """Drain all changes; rebuild first unless all mirrors of the site are warm, because a rebuild takes far longer."""
    redis = relay_client()
    replay.check(redis)
    found = [redis.get(naming.marker(name)) for name in SITE]
    if Change.objects.pending().filter(key=changes.WHOLE).exists() or not marker.generations(redis, SITE, found):
        rebuild()
    drains.drain_all()


def _find_new(names: list[str], redis: Redis) -> list[Mirror]:
    """Return mirrors that were never rebuilt, in the order of a rebuild, after deleting keys that drains have written.

    Left out are mirrors with pending changes of everything, mirrors with lazy windows, mirrors after those left out,
    and, in a transaction, mirrors with rows, because rows that may be rolled back cannot be written.
    """
    old = {*State.objects.exclude(rebuild_token="", rebuild_rows=0).values_list("mirror", flat=True)}
    old |= {*Change.objects.pending().filter(key=changes.WHOLE).values_list("mirror", flat=True)}
    in_transaction = connections[changes.using()].in_atomic_block
    filled = find_filled_tables(registry.all_mirrors(names)) if in_transaction else set()
    with Session(redis) as session:
        keys = [key for some in scan.keys(session) for key in some]
        new: dict[str, Mirror] = {}
        for mirror in sorted(registry.all_mirrors(names), key=mirror_rebuild.order):
            if mirror.name in old or not new.keys() >= {*registry.ahead(mirror.name)}:
                continue
            kind = kind_of(mirror)
            owned = [*filter(scan.Owned(mirror).has, keys)] if keys else []
            if in_transaction and (owned or any(read(None, 1) for read in list_readers(mirror, filled))):
                continue
            if owned and kind.is_lazy:
                continue
            if owned:
                session.ask([("UNLINK", key) for key in owned])
            new[mirror.name] = mirror
    return [*new.values()]
