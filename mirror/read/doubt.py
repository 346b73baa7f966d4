"""Doubt: if Redis may lack a change that readers must see, they ask the outbox about the rows they read.

A *strict* mirror (sessions, users, blocks, posts) decides about access or privacy. Its readers believe Redis only
with a fresh heartbeat (``mirror.upkeep.heartbeat``), read in the same round trip as the data. Without one, or after a
failure seen by this process, one indexed query looks for pending changes of the rows. If it finds none, Redis is
right; otherwise SQL answers. Quarantined rows of every mirror are answered by SQL as well; Redis lists them.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from django.db import Error as DatabaseError

from mirror import registry
from mirror.conf import setting
from mirror.declare.mirrors import Mirror
from mirror.declare.watches import Family
from mirror.kinds import kind_of
from mirror.outbox import changes as outbox
from mirror.redis import naming
from mirror.redis.circuit_breaker import Breaker
from mirror.redis.clients import breaker
from mirror.redis.session import get_pool
from mirror.redis.types import RedisClient
from mirror.utils.failure_log import FailureLog

failures = FailureLog(logging.getLogger("mirror"))
Staged = tuple[tuple[Any, ...], dict[str, Any]]
Changed = tuple[str, str, str]  # mirror, source, key
TOO_MANY = b"*"  # replaces the list of quarantined changes if it is too long
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
        return any(entry[0] in self.sets[name] for entry in kind.before(pk, None))


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
        if self.quarantined is None and not any(in_doubt):
            return in_doubt
        quarantined: Sequence[Sequence[str]] = ()
        if self.quarantined == TOO_MANY:  # the query finds them
            in_doubt = [bool(group.mirrors) for group in groups]
        elif self.quarantined is not None:
            quarantined = orjson.loads(self.quarantined)
        rows = [rows_of(group) for group in groups]
        pending = _find_pending([of_group for of_group, is_asked in zip(rows, in_doubt, strict=True) if is_asked])
        for_sql: list[bool] = []
        for of_group, is_asked in zip(rows, in_doubt, strict=True):
            is_pending = is_asked and of_group.are_among(pending)
            for_sql.append(is_pending or of_group.are_among(quarantined))
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
        self._clock, self._seen = clock, (b"", 0.0)

    def is_fresh(self, heartbeat: bytes) -> bool:
        now, (newest, since) = self._clock(), self._seen
        if heartbeat != newest:
            self._seen = (heartbeat, now)
            return True
        return now - since <= float(setting("HEARTBEAT_SECONDS"))


_newest = _Newest()


def _is_fresh(heartbeat: bytes | None, incarnation: str) -> bool:
    if heartbeat is None or heartbeat.rpartition(b"|")[0] != incarnation.encode():
        return False
    return _newest.is_fresh(heartbeat)


def _find_pending(rows: Sequence[Rows]) -> list[Changed]:
    """Return the pending changes of these rows; none while SQL is away, so that Redis is believed."""
    exact: set[Changed] = set()
    mirrors_of_sets: set[str] = set()
    for of_group in rows:
        exact |= of_group.exact
        mirrors_of_sets |= of_group.sets.keys()
    if not exact or database.open():
        return []
    try:
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
    return [(name, "", outbox.WHOLE if len(changes) > outbox.MUCH else change.key) for change in changes]


def rows_of(group: Group) -> Rows:
    """Return the rows that a read concerns, by its records and by its requested or returned entries."""
    exact: set[Changed] = set()
    sets: dict[str, frozenset[str]] = {}
    for mirror in registry.all_mirrors(group.mirrors) if group.mirrors else ():
        exact.add((mirror.name, "", outbox.WHOLE))
        kind, families = kind_of(mirror), mirror.families()
        structures: set[str] = set()
        for (args, _), reply in zip(group.commands, group.replies, strict=True):
            for key, of_key in _keys_of(args, reply):
                pk = kind.find_row(key)
                if pk is not None:
                    exact.add((mirror.name, "", pk))
                    exact.update(_behind(mirror, of_key))
                    continue
                family = _find_family(families, key)
                if family is None:
                    continue
                exact.update((mirror.name, "", owner) for owner in _owners(family, key, args, of_key))
                # A pending edge is not among the members of a set that was read, so its key must be asked for.
                if family.kind == "set" and kind.key_names_entries and args[0] not in MEMBERS_ASKED:
                    structures.add(key)
        if structures:
            sets[mirror.name] = frozenset(structures)
    return Rows(frozenset(exact), sets)


def _find_family(families: Iterable[Family], key: str) -> Family | None:
    for family in families:
        if family.has(key):
            return family
    return None


def _keys_of(args: Sequence[Any], reply: Any) -> Iterator[tuple[str, Any]]:
    """Yield the keys that a command reads, each with its reply."""
    if args[0] == "MGET":
        yield from zip(map(_text, args[1:]), reply, strict=True)
    elif args[0] == "EVAL":  # the page of a ranking: behind the script stands the number of its keys
        for key in args[3 : 3 + int(args[2])]:
            yield _text(key), reply
    elif args[0] in ("SINTER", "SUNION", "SDIFF"):  # a pending change of any of the sets matters
        for key in args[1:]:
            yield _text(key), reply
    elif len(args) > 1:
        yield _text(args[1]), reply


def _behind(mirror: Mirror, reply: Any) -> Iterator[Changed]:
    """Yield the changes of other tables' rows that would change the record."""
    if isinstance(reply, bytes) and mirror.has_record and mirror.record_kind == "json":
        try:
            behind = list(mirror.rows_behind(orjson.loads(reply)))
        except Exception:  # a record of another writer may raise anything; its reader decides about it
            behind = []
        for model, key in behind:
            yield mirror.name, str(model._meta.db_table), str(key)


def _owners(family: Family, key: str, args: Sequence[Any], reply: Any) -> Iterator[str]:
    """Yield the keys of the rows with these entries: of the requested or of the returned members."""
    if family.kind == "string":
        members = [reply] if isinstance(reply, bytes) else []
    elif args[0] in MEMBERS_ASKED:
        members = list(args[2:])
    elif family.kind == "bitmap":  # counts and parts name no rows
        members = []
    else:
        members = list(_flat(reply))
    return (family.owner(key, _text(member)) for member in members)


def _flat(reply: Any) -> Iterator[bytes]:
    """Yield the members in a reply: a list, a set, pairs with scores, or the page of a scan."""
    if isinstance(reply, bytes):
        yield reply
    elif isinstance(reply, (list, tuple, set)):
        for part in reply:
            yield from _flat(part)


def _text(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
