"""Explain one row: its content in SQL, its expected entries, and the entries in Redis."""

from typing import Any, NamedTuple

from mirror import registry
from mirror.comparison import compare, scan
from mirror.comparison.expected import says
from mirror.declare.entries import single
from mirror.declare.mirrors import Mirror, TableMirror
from mirror.kinds import ABSENT, shape_of
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.windows.declare import WindowMirror


class NothingToExplain(LookupError):
    """The model is unknown or has no mirror."""


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
        return self.sql != self.redis or any(wanted != said for _, _, wanted, said in self.entries)


def mirrors_of(name: str) -> list[Mirror]:
    """Return the mirrors of a model ("catalog.Book" or "book"), or the mirror of that name. Raises NothingToExplain."""
    mirrors = {mirror: _label(mirror) for mirror in registry.all_mirrors()}
    found = [mirror for mirror, label in mirrors.items() if name == mirror.name or name.lower() == label.lower()]
    found = found or [m for m, label in mirrors.items() if name.lower() == label.lower().rpartition(".")[2]]
    if not found:
        known = ", ".join(sorted(set(mirrors.values()) - {""})) or "none"
        raise NothingToExplain(f"no mirror has a model called {name!r} (mirrored: {known})")
    return found


def _label(mirror: Mirror) -> str:
    """Return the model's name, or "" for a summary and for windows with other owners."""
    model = getattr(mirror, "model", None)
    if isinstance(mirror, WindowMirror) and not mirror.is_of_rows():
        return ""
    return str(model._meta.label) if model else ""


def explain(name: str, pk: str, *, redis: RedisClient | None = None) -> list[Explained]:
    """Explain row ``pk`` of a model by each of its mirrors. Raises NothingToExplain."""
    mirrors = mirrors_of(name)
    if not any(mirror.is_possible(pk) for mirror in mirrors):
        raise NothingToExplain(f"{pk!r} cannot be the key of a {_label(mirrors[0]) or name}")
    with Session(redis or relay_client()) as session:
        return [_one(mirror, pk, session) for mirror in mirrors if mirror.is_possible(pk)]


def _one(mirror: Mirror, pk: str, session: Session) -> Explained:
    pending = [change.id for change in changes.pending_of(mirror.name, [pk]).get(pk, [])]
    if isinstance(mirror, TableMirror):
        rows = (mirror.load([pk]).get(pk), mirror.stored([pk]).get(pk))
        wanted_text, stored_text = (None if row is None else str(row) for row in rows)
        return Explained(mirror.name, mirror.tables, wanted_text, stored_text, [], pending)
    shape = shape_of(mirror)
    target = shape.targets([pk]).get(pk, ABSENT)
    said = shape.said([pk], scan.ask(session, shape.ask([pk]) or [("PING",)]))[0]
    target = shape.standing(pk, said, target)
    stated = _stated(shape.before, pk, said)
    contributed = list(single(target.entries))
    entries = list(dict.fromkeys([*contributed, *single(stated)]))
    replies = scan.ask(session, [compare.ask(entry) for entry in entries]) if entries else []
    wanted = {says(entry)[:2]: says(entry)[2] for entry in contributed}
    found = [
        (*says(entry)[:2], wanted.get(says(entry)[:2]), compare.said(entry, reply))
        for entry, reply in zip(entries, replies, strict=True)
    ]
    found = [row for row in found if row[2:] != (None, None)]
    key = mirror.record_key(pk) if isinstance(mirror, WindowMirror) else shape.watched(pk)
    own = said if mirror.has_record else None
    return Explained(mirror.name, key, compare.show(target.own), compare.show(own), found, pending)


def _stated(before: Any, pk: str, said: Any) -> list[Any]:
    """Return the entries of the record in Redis, or none if it cannot be read."""
    try:
        return list(before(pk, said))
    except Exception:
        return []
