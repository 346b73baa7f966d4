"""Explain one row: its content in SQL, its expected entries, and the entries in Redis."""

from typing import TYPE_CHECKING, Any, NamedTuple

from mirror.comparison import compare, scan
from mirror.comparison.expected import says
from mirror.comparison.targets import ABSENT
from mirror.declare.entries import single
from mirror.outbox import changes
from mirror.redis.session import Session

if TYPE_CHECKING:
    from mirror.kinds.base import Kind


class Explained(NamedTuple):
    """A mirror's view of one row. entries: (key, member, value by SQL, value in Redis)."""

    mirror: str
    key: str
    sql: str | None
    redis: str | None
    entries: list[tuple[str, str, str | None, str | None]]
    pending: list[int]

    @property
    def differs(self) -> bool:
        """Return whether SQL and Redis differ."""
        return self.sql != self.redis or any(wanted != value for _, _, wanted, value in self.entries)


def explain_row(kind: "Kind", pk: str, session: Session) -> Explained:
    """Explain a row that is in Redis."""
    mirror = kind.mirror
    pending = [change.id for change in changes.pending_of(mirror.name, [pk]).get(pk, [])]
    target = kind.targets([pk]).get(pk, ABSENT)
    stored = kind.read_states([pk], scan.ask(session, kind.ask([pk]) or [("PING",)]))[0]
    target = kind.settle(pk, stored, target)
    stated = _stated(kind.before, pk, stored)
    contributed = list(single(target.entries))
    entries = list(dict.fromkeys([*contributed, *single(stated)]))
    replies = scan.ask(session, [compare.ask(entry) for entry in entries]) if entries else []
    wanted = {says(entry)[:2]: says(entry)[2] for entry in contributed}
    found = [
        (*says(entry)[:2], wanted.get(says(entry)[:2]), compare.read_value(entry, reply))
        for entry, reply in zip(entries, replies, strict=True)
    ]
    found = [row for row in found if row[2:] != (None, None)]
    own = stored if mirror.has_record else None
    return Explained(mirror.name, kind.name_key(pk), compare.show(target.own), compare.show(own), found, pending)


def _stated(before: Any, pk: str, stored: Any) -> list[Any]:
    """Return the entries of the record in Redis, or none if it cannot be read."""
    try:
        return list(before(pk, stored))
    except Exception:
        return []
