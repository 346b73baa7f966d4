"""Warm mirrors quickly, for tests: those without any key get one drain of their rows, and their marker.

A rebuild takes several milliseconds of bookkeeping for each mirror, which it needs to survive crashes and writers.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence

from mirror import registry
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.kinds import kind_of
from mirror.models import State
from mirror.outbox import changes, spread
from mirror.redis import naming
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.relay import apply
from mirror.warm import marker


def make_warm(mirrors: Sequence[Mirror], redis: RedisClient) -> None:
    """Make these mirrors warm, in this order. They must have no keys of rows that SQL does not have."""
    _write_rows(mirrors, redis)
    _mark_warm(mirrors, redis)


def _write_rows(mirrors: Iterable[Mirror], redis: RedisClient) -> None:
    """Write all rows of these mirrors; their changes are applied, and so are those of other tables."""
    sources = defaultdict(list)
    for name, change in spread.pending_sources().values_list("mirror", "id"):
        sources[name].append(change)
    for mirror in mirrors:
        kind = kind_of(mirror)
        size = kind.limit_batch(int(setting("CHUNK")))
        for read in kind.list_readers():  # lazy windows are filled when they are read
            cursor = None
            while pks := read(cursor, size):
                apply.drain(mirror, pks, redis=redis, full=True)
                cursor = pks[-1]
    applied = [change for mirror in mirrors if not registry.chained(mirror.name) for change in sources[mirror.name]]
    if applied:
        with Session(redis) as session:
            changes.mark_applied(applied, session.incarnation)


def _mark_warm(mirrors: Iterable[Mirror], redis: RedisClient) -> None:
    # migrate has made the rows, with the layouts; the number of rows tells later calls that these are no longer new.
    State.objects.using(changes.using()).bulk_create(
        [State(mirror=mirror.name, rebuild_rows=1) for mirror in mirrors],
        update_conflicts=True,
        update_fields=["rebuild_rows"],
        unique_fields=["mirror"],
    )
    with Session(redis) as session:
        commands: list[Command] = []
        for mirror in mirrors:
            generation = uuid.uuid4().hex[:12]
            value = marker.value(mirror.name, session.incarnation, generation)
            commands += [("SET", naming.marker(mirror.name), value), *marker._reset(mirror, generation)]
        if commands:
            session.ask(commands)
