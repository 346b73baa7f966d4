"""Explain one row: its content in SQL, its expected entries, and the entries in Redis."""

from typing import TYPE_CHECKING, Any, NamedTuple

from mirror.comparison import compare, scan
from mirror.comparison.expected import describe_entry
from mirror.comparison.structures import structure_of
from mirror.comparison.targets import ABSENT
from mirror.declare.entries import Entry, single
from mirror.outbox import changes
from mirror.redis.session import Session

if TYPE_CHECKING:
    from mirror.kinds.base import Kind


ExplainedEntry = tuple[str, str, str | None, str | None]  # key, member, value by SQL, value in Redis


class Explained(NamedTuple):
    """A mirror's view of one row."""

    mirror: str
    key: str
    sql: str | None
    redis: str | None
    entries: list[ExplainedEntry]
    pending: list[int]

    @property
    def differs(self) -> bool:
        """Return whether SQL and Redis differ."""
        if self.sql != self.redis:
            return True
        return any(wanted != value for _, _, wanted, value in self.entries)


def explain_row(kind: "Kind", pk: str, session: Session) -> Explained:
    """Explain a row that is in Redis."""
    mirror = kind.mirror
    pending = changes.pending_of(mirror.name, [pk]).get(pk, [])
    target = kind.targets([pk]).get(pk, ABSENT)
    # A kind without a state of its own asks nothing, and a connection needs at least one command.
    commands = kind.ask([pk]) or [("PING",)]
    (stored,) = kind.read_states([pk], scan.ask(session, commands))
    target = kind.settle(pk, stored, target)
    contributed = list(single(target.entries))
    # The record in Redis may name entries that the row no longer has.
    recorded = list(single(_read_recorded(kind.before, pk, stored)))
    return Explained(
        mirror=mirror.name,
        key=kind.name_key(pk),
        sql=compare.show(target.own),
        redis=compare.show(stored) if mirror.has_record else None,
        entries=_explain_entries(contributed, recorded, session),
        pending=[change.id for change in pending],
    )


def _explain_entries(contributed: list[Entry], recorded: list[Entry], session: Session) -> list[ExplainedEntry]:
    """Return the entries that SQL or Redis has, of those that the row contributes and those that its record names."""
    wanted: dict[tuple[str, str], str] = {}
    for entry in contributed:
        key, member, value_by_sql = describe_entry(entry)
        wanted[key, member] = value_by_sql
    entries = list(dict.fromkeys(contributed + recorded))
    if not entries:
        return []
    replies = scan.ask(session, [structure_of(entry).ask(entry) for entry in entries])
    explained: list[ExplainedEntry] = []
    for entry, reply in zip(entries, replies, strict=True):
        key, member, _ = describe_entry(entry)
        expected = wanted.get((key, member))
        found = structure_of(entry).read_value(reply)
        if expected is not None or found is not None:
            explained.append((key, member, expected, found))
    return explained


def _read_recorded(before: Any, pk: str, stored: Any) -> list[Any]:
    """Return the entries of the record in Redis, or none if it cannot be read."""
    try:
        return list(before(pk, stored))
    except Exception:
        return []
