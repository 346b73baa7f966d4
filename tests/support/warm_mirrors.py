"""Warm mirrors quickly: those of the site, or those of the mirror's own tests."""

import uuid
from collections.abc import Iterable

from django.db import connections
from redis import Redis

from mirror import apply, heartbeat, marker, naming, outbox, registry, replay, scan, spread
from mirror import rebuild as mirror_rebuild
from mirror.conf import setting
from mirror.declare import Mirror, TableMirror
from mirror.models import State
from mirror.redis import relay_client
from mirror.session import Session
from mirror.window_shapes import at_once, is_lazy

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
    for mirror in new:
        if not is_lazy(mirror):  # lazy windows are filled when they are read
            _write_rows(mirror, redis)
    _call_whole(new, redis)
    done = {mirror.name for mirror in new}
    if left := [name for name in names if name not in done]:
        mirror_rebuild.rebuild(left)
    heartbeat.beat(redis)


def _find_new(names: list[str], redis: Redis) -> list[Mirror]:
    """Return mirrors that were never rebuilt, have no keys, and need no step before their rows are written."""
    rebuilt = {*State.objects.values_list("mirror", flat=True)}
    with Session(redis) as session:
        keys = [key for some in scan.keys(session) for key in some]
    new = [mirror for mirror in registry.all_mirrors(names) if mirror.name not in rebuilt]
    new = [mirror for mirror in new if not isinstance(mirror, TableMirror) and not registry.ahead(mirror.name)]
    new = [mirror for mirror in new if not any(map(scan.Owned(mirror).has, keys))]
    if connections[outbox.using()].in_atomic_block:  # rows that may be rolled back cannot be written
        new = [mirror for mirror in new if not mirror.keys_after(None, 1)]
    return new


def _write_rows(mirror: Mirror, redis: Redis) -> None:
    """Write all rows of a mirror; their changes are applied, and so are those of other tables."""
    sources = list(spread.pending_sources().filter(mirror=mirror.name).values_list("id", flat=True))
    cursor, size = None, at_once(mirror, int(setting("CHUNK")))
    while pks := mirror.keys_after(cursor, size):
        apply.drain(mirror, pks, redis=redis, full=True)
        cursor = pks[-1]
    if sources and not registry.chained(mirror.name):
        with Session(redis) as session:
            outbox.mark_applied(sources, session.incarnation)


def _call_whole(mirrors: list[Mirror], redis: Redis) -> None:
    State.objects.using(outbox.using()).bulk_create(State(mirror=mirror.name) for mirror in mirrors)
    with Session(redis) as session:
        for mirror in mirrors:
            generation = uuid.uuid4().hex[:12]
            said = marker.value(mirror.name, session.incarnation, generation)
            session.execute([("SET", naming.marker(mirror.name), said), *marker._reset(mirror, generation)])
