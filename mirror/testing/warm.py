"""Warm mirrors quickly, for tests: those without any key get one drain of their rows, and their marker.

A rebuild takes several milliseconds of bookkeeping for each mirror, which it needs to survive crashes and writers.
"""

import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from django.db import connections

from mirror import registry
from mirror.conf import setting
from mirror.declare.mirrors import EdgeMirror, Mirror, TableMirror
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
    if not mirrors:
        return
    _write_rows(mirrors, redis)
    _mark_warm(mirrors, redis)


def _write_rows(mirrors: Sequence[Mirror], redis: RedisClient) -> None:
    """Write all rows of these mirrors; their changes are applied, and so are those of other tables."""
    # Before the rows: sources that change later are spread as usual.
    sources: dict[str, list[int]] = defaultdict(list)
    for name, change in spread.pending_sources().values_list("mirror", "id"):
        sources[name].append(change)
    filled = find_filled_tables(mirrors)
    applied: list[int] = []
    for mirror in mirrors:
        has_rows = _write_mirror(mirror, filled, redis)
        if has_rows and isinstance(mirror, TableMirror):
            # Its drains have written rows of other mirrors.
            filled = find_filled_tables(mirrors)
        if not registry.chained(mirror.name):
            applied += sources[mirror.name]
    if applied:
        with Session(redis) as session:
            changes.mark_applied(applied, session.incarnation)


def _write_mirror(mirror: Mirror, filled: set[str], redis: RedisClient) -> bool:
    """Write all rows of a mirror. Return whether there are any."""
    size = kind_of(mirror).limit_batch(int(setting("CHUNK")))
    drained: set[str] = set()
    # No functions for lazy windows, which are filled when they are read
    for read in list_readers(mirror, filled):
        # A function of the mirror's own may leave out rows of a full page.
        is_complete = read == mirror.keys_after and _find_table(mirror) is not None
        cursor = None
        while pks := read(cursor, size):
            # A table that is derived from rows also lists those that these drains have just written.
            if new := [pk for pk in pks if pk not in drained]:
                apply.drain(mirror, new, redis=redis, full=True)
                drained.update(new)
            cursor = pks[-1]
            if is_complete and len(pks) < size:
                break
    return bool(drained)


def find_filled_tables(mirrors: Iterable[Mirror]) -> set[str]:
    """Return the tables of these mirrors that have rows, by one statement: in a test, most tables are empty."""
    connection = connections[changes.using()]
    tables = filter(None, map(_find_table, mirrors))
    numbered = dict(enumerate(sorted(set(tables))))
    if not numbered:
        return set()
    parts: list[str] = []
    for number, table in numbered.items():
        name = connection.ops.quote_name(table)
        parts.append(f"SELECT {number} WHERE EXISTS (SELECT 1 FROM {name})")
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        return {numbered[number] for (number,) in cursor.fetchall()}


def list_readers(mirror: Mirror, filled: set[str]) -> list[Callable[[str | None, int], list[str]]]:
    """Return the functions that read the keys of a mirror's rows. filled: the tables that have rows."""
    table = _find_table(mirror)
    readers = kind_of(mirror).list_readers()
    if table is None or table in filled:
        return readers
    return [read for read in readers if read != mirror.keys_after]


def _find_table(mirror: Mirror) -> str | None:
    """Return the table from which ``keys_after`` reads, or None if the mirror has a method of its own."""
    match type(mirror).keys_after:
        case Mirror.keys_after:
            return mirror.model._meta.db_table
        case EdgeMirror.keys_after:
            return mirror.watches[0].model._meta.db_table
    return None


def _mark_warm(mirrors: Sequence[Mirror], redis: RedisClient) -> None:
    _note_rebuilds([mirror.name for mirror in mirrors])
    with Session(redis) as session:
        commands: list[Command] = []
        for mirror in mirrors:
            generation = uuid.uuid4().hex[:12]
            value = marker.value(mirror.name, session.incarnation, generation)
            commands.append(("SET", naming.marker(mirror.name), value))
            commands += marker._reset(mirror, generation)
        session.ask(commands)


def _note_rebuilds(names: Sequence[str]) -> None:
    """Store for each mirror that it has been rebuilt: later calls see by its rows that it is no longer new.

    ``migrate`` has made these rows, with the layouts. Written as SQL, because ``bulk_create`` takes ten times as long.
    """
    connection = connections[changes.using()]
    table = connection.ops.quote_name(State._meta.db_table)
    values = ", ".join(["(%s, 1)"] * len(names))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (mirror, rebuild_rows) VALUES {values}"
            " ON CONFLICT (mirror) DO UPDATE SET rebuild_rows = 1",
            names,
        )
