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
from mirror.models import State
from mirror.outbox import changes, spread
from mirror.read import marker
from mirror.redis import naming
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.relay import apply
from mirror.windows.shapes import at_once, is_lazy


def make_warm(mirrors: Sequence[Mirror], redis: RedisClient) -> None:
    """Make these mirrors warm, in this order. They must have no keys of rows that SQL does not have."""
    _write_rows(mirrors, redis)
    _mark_warm(mirrors, redis)


def _write_rows(mirrors: Sequence[Mirror], redis: RedisClient) -> None:
    """Write all rows of these mirrors; their changes are applied, and so are those of other tables."""
    sources = defaultdict(list)
    for name, change in spread.pending_sources().values_list("mirror", "id"):
        sources[name].append(change)
    filled = find_filled_tables(mirrors)
    for mirror in mirrors:
        if is_lazy(mirror):  # lazy windows are filled when they are read
            continue
        size, has_rows = at_once(mirror, int(setting("CHUNK"))), False
        for read in list_readers(mirror, filled):
            cursor = None
            while pks := read(cursor, size):
                apply.drain(mirror, pks, redis=redis, full=True)
                cursor, has_rows = pks[-1], True
        if has_rows and isinstance(mirror, TableMirror):  # its drains have written rows of other mirrors
            filled = find_filled_tables(mirrors)
    applied = [change for mirror in mirrors if not registry.chained(mirror.name) for change in sources[mirror.name]]
    if applied:
        with Session(redis) as session:
            changes.mark_applied(applied, session.incarnation)


def find_filled_tables(mirrors: Iterable[Mirror]) -> set[str]:
    """Return the tables of these mirrors that have rows, by one statement: in a test, most tables are empty."""
    connection = connections[changes.using()]
    tables = sorted({table for mirror in mirrors if (table := _table_of(mirror))})
    if not tables:
        return set()
    parts = [f"SELECT {n} WHERE EXISTS (SELECT 1 FROM {connection.ops.quote_name(t)})" for n, t in enumerate(tables)]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts))
        return {tables[n] for (n,) in cursor.fetchall()}


def list_readers(mirror: Mirror, filled: set[str]) -> list[Callable[[str | None, int], list[str]]]:
    """Return the functions that read the keys of a mirror's rows, and of its stored rows if it is a table mirror.

    filled: the tables that have rows.
    """
    readers: list[Callable[[str | None, int], list[str]]] = []
    table = _table_of(mirror)
    if table is None or table in filled:
        readers.append(mirror.keys_after)
    if isinstance(mirror, TableMirror):
        readers.append(mirror.stored_after)
    return readers


def _table_of(mirror: Mirror) -> str | None:
    """Return the table from which ``keys_after`` reads, or None if the mirror has a method of its own."""
    match type(mirror).keys_after:
        case Mirror.keys_after:
            return mirror.model._meta.db_table
        case EdgeMirror.keys_after:
            return mirror.watches[0].model._meta.db_table
    return None


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
