"""Doubt: if Redis may lack a change that readers must see, they ask the outbox about the rows they read.

A *strict* mirror (sessions, users, blocks, posts) decides about access or privacy. Its readers believe Redis only
with a fresh heartbeat (``mirror.upkeep.heartbeat``), read in the same round trip as the data. Without one, or after a
failure seen by this process, one indexed query looks for pending changes of the rows. If it finds none, Redis is
right; otherwise SQL answers. Quarantined rows of every mirror are answered by SQL as well; Redis lists them.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import orjson
from django.db import Error as DatabaseError

from mirror import registry
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.declare.watches import Family
from mirror.kinds import kind_of
from mirror.outbox import changes as outbox
from mirror.redis import naming, recorder
from mirror.redis.circuit_breaker import Breaker
from mirror.redis.clients import breaker
from mirror.redis.session import get_pool
from mirror.redis.types import RedisClient
from mirror.utils import json_texts
from mirror.utils.failure_log import FailureLog

failures = FailureLog(logging.getLogger("mirror"))
Staged = tuple[tuple[Any, ...], dict[str, Any]]
Changed = tuple[str, str, str]  # mirror, source, key
TOO_MANY = b"*"  # replaces the list of quarantined changes if it is too long
SEVERAL_SETS_READ = {"SINTER", "SUNION", "SDIFF"}
MEMBERS_ASKED = {"SISMEMBER", "SMISMEMBER", "ZSCORE", "ZMSCORE", "ZRANK", "ZREVRANK", "HGET", "HMGET", "GETBIT"}
database = Breaker()  # so that reads pay one time-out per second while SQL is away


class Rows(NamedTuple):
    """The rows that a read concerns. exact: changes. sets: by mirror, Redis keys that any edge may be a member of."""

    exact: frozenset[Changed]
    sets: Mapping[str, frozenset[str]]

    def are_among(self, changes: Iterable[Sequence[str]]) -> bool:
        """Return whether a change in ``changes`` (mirror, source, key) concerns the read."""
        return any((name, source, pk) in self.exact or self._is_member(name, pk) for name, source, pk in changes)

    def _is_member(self, name: str, pk: str) -> bool:
        """Return whether an edge is, or will be, a member of one of the sets."""
        if name not in self.sets:
            return False
        kind = kind_of(registry.get(name))
        if not kind.key_names_entries:
            return False
        keys = {entry[0] for entry in kind.before(pk, None)}
        return not keys.isdisjoint(self.sets[name])


class Group(NamedTuple):
    """One read: the mirrors that must be warm, the commands, and their replies."""

    mirrors: Sequence[str]
    commands: Sequence[Staged]
    replies: Sequence[Any]


def keys() -> tuple[str, str]:
    """Return the keys that are read with the markers, in the order that ``Evidence`` takes the replies."""
    return naming.heartbeat(), naming.quarantined()


class Evidence(NamedTuple):
    """The replies to ``keys()``, and the incarnation they come from."""

    heartbeat: bytes | None
    quarantined: bytes | None
    incarnation: str

    @classmethod
    def of(cls, replies: Sequence[bytes | None], redis: RedisClient) -> "Evidence":
        """Return the evidence in the replies to ``keys()``."""
        heartbeat, quarantined = replies
        return cls(heartbeat, quarantined, get_pool(redis).incarnation)

    def groups_for_sql(self, groups: Sequence[Group]) -> list[bool]:
        """Return for each group whether SQL has to answer it. At most one query, and none without doubt."""
        in_doubt = [self._is_in_doubt(group) for group in groups]
        # Nearly every read ends here, without a query.
        if self.quarantined is None and not any(in_doubt):
            return in_doubt
        quarantined: Sequence[Sequence[str]] = ()
        if self.quarantined == TOO_MANY:
            # The query for pending changes finds quarantined ones as well.
            in_doubt = [bool(group.mirrors) for group in groups]
        elif self.quarantined is not None:
            quarantined = orjson.loads(self.quarantined)
        rows = [rows_of(group) for group in groups]
        pending = _find_pending(list(compress(rows, in_doubt)))
        for_sql: list[bool] = []
        for of_group, is_asked in zip(rows, in_doubt, strict=True):
            is_pending = is_asked and of_group.are_among(pending)
            is_quarantined = of_group.are_among(quarantined)
            for_sql.append(is_pending or is_quarantined)
        return for_sql

    def _is_in_doubt(self, group: Group) -> bool:
        if not any(map(registry.is_strict, group.mirrors)):
            return False
        return breaker.failed_lately() or not _is_fresh(self.heartbeat, self.incarnation)


class _Newest:
    """The last heartbeat that this process saw, and the time when it saw it first.

    Redis lets a heartbeat expire by its wall clock. If that clock is set back while no relay runs, an old heartbeat
    remains. The process notices this by its own clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen = (b"", 0.0)

    def is_fresh(self, heartbeat: bytes) -> bool:
        now = self._clock()
        newest, since = self._seen
        if heartbeat != newest:
            self._seen = (heartbeat, now)
            return True
        return now - since <= float(setting("HEARTBEAT_SECONDS"))


_newest = _Newest()


def _is_fresh(heartbeat: bytes | None, incarnation: str) -> bool:
    if heartbeat is None:
        return False
    written_in, _, _ = heartbeat.rpartition(b"|")
    if written_in != incarnation.encode():
        return False
    return _newest.is_fresh(heartbeat)


def _find_pending(rows: Sequence[Rows]) -> list[Changed]:
    """Return the pending changes of these rows; none while SQL is away, so that Redis is believed."""
    exact: set[Changed] = set()
    mirrors_of_sets: set[str] = set()
    for of_group in rows:
        exact |= of_group.exact
        mirrors_of_sets |= of_group.sets.keys()
    # The breaker is open while SQL is away.
    if not exact or database.open():
        return []
    try:
        with recorder.checks():
            found = outbox.pending_among(exact)
            for name in mirrors_of_sets:
                found += _find_pending_edges(name)
    except DatabaseError as error:
        database.failed()
        text = "SQL did not say what is pending, Redis is believed: %s"
        failures.add("sql", text, error, level=logging.WARNING)
        return []
    failures.end("sql", "SQL says again what is pending")
    return found


def _find_pending_edges(name: str) -> list[Changed]:
    """Return all pending edges of a mirror, or a change of everything if there are too many."""
    changes = outbox.pending_at_all(name, outbox.MUCH + 1)
    if len(changes) > outbox.MUCH:
        return [(name, "", outbox.WHOLE)]
    return [(name, "", change.key) for change in changes]


def rows_of(group: Group) -> Rows:
    """Return the rows that a read concerns, by its records and by its requested or returned entries."""
    exact: set[Changed] = set()
    sets: dict[str, frozenset[str]] = {}
    # No names would mean all mirrors.
    if not group.mirrors:
        return Rows(frozenset(), sets)
    for mirror in registry.all_mirrors(group.mirrors):
        rows_of_mirror = _RowsOfMirror(mirror)
        for (args, _), reply in zip(group.commands, group.replies, strict=True):
            for key, of_key in _list_keys(args, reply):
                rows_of_mirror.add(args, key, of_key)
        exact |= rows_of_mirror.exact
        if rows_of_mirror.sets:
            sets[mirror.name] = frozenset(rows_of_mirror.sets)
    return Rows(frozenset(exact), sets)


class _RowsOfMirror:
    """The rows of one mirror that a read concerns, as in ``Rows``."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._kind = kind_of(mirror)
        self._families = mirror.families()
        self.exact: set[Changed] = {(mirror.name, "", outbox.WHOLE)}
        self.sets: set[str] = set()

    def add(self, args: Sequence[Any], key: str, reply: Any) -> None:
        """Add the rows of a key that a command with these arguments reads."""
        name = self._mirror.name
        pk = self._kind.find_row(key)
        if pk is not None:
            self.exact.add((name, "", pk))
            self.exact.update(_list_behind(self._mirror, reply))
            return
        family = _find_family(self._families, key)
        if family is None:
            return
        for owner in _list_owners(family, key, args, reply):
            self.exact.add((name, "", owner))
        # A pending edge is not among the members of a set that was read, so its key must be asked for.
        if family.kind == "set" and self._kind.key_names_entries and args[0] not in MEMBERS_ASKED:
            self.sets.add(key)


def _find_family(families: Iterable[Family], key: str) -> Family | None:
    for family in families:
        if family.has(key):
            return family
    return None


def _list_keys(args: Sequence[Any], reply: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys that a command reads, each with its reply."""
    command = args[0]
    if command == "MGET":
        yield from zip(map(_to_text, args[1:]), reply, strict=True)
        return
    if command == "EVAL":
        # The page of a ranking. The number of its keys follows the script.
        keys = args[3 : 3 + int(args[2])]
    elif command in SEVERAL_SETS_READ:
        # A pending change of any of the sets matters.
        keys = args[1:]
    else:
        keys = args[1:2]
    for key in keys:
        yield _to_text(key), reply


def _list_behind(mirror: Mirror, reply: Any) -> Iterator[Changed]:
    """Yield the changes of other tables' rows that would change the record."""
    if not isinstance(reply, bytes) or not mirror.has_record or mirror.record_kind != "json":
        return
    try:
        record = json_texts.decode(reply)
        behind = list(mirror.rows_behind(record))
    except Exception:
        # A record of another writer may raise anything. Its reader decides about it.
        return
    for model, key in behind:
        yield mirror.name, str(model._meta.db_table), str(key)


def _list_owners(family: Family, key: str, args: Sequence[Any], reply: Any) -> Iterator[str]:
    """Yield the keys of the rows with these entries: of the requested or of the returned members."""
    if family.kind == "string":
        members = [reply] if isinstance(reply, bytes) else []
    elif args[0] in MEMBERS_ASKED:
        members = list(args[2:])
    elif family.kind == "bitmap":
        return  # counts and parts name no rows
    else:
        members = list(_list_members(reply))
    for member in members:
        yield family.owner(key, _to_text(member))


def _list_members(reply: Any) -> Iterator[bytes]:
    """Yield the members in a reply: a list, a set, pairs with scores, or the page of a scan."""
    if isinstance(reply, bytes):
        yield reply
    elif isinstance(reply, (list, tuple, set)):
        for part in reply:
            yield from _list_members(part)


def _to_text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
