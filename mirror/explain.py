"""Explain one row: what SQL says, which entries it should have, which Redis has."""

from typing import Any, NamedTuple

from django.db.models import Model

from mirror import compare, outbox, registry
from mirror.declare import EdgeMirror, Mirror
from mirror.entries import single
from mirror.expected import says
from mirror.redis import relay_client
from mirror.session import Session
from mirror.shapes import ABSENT, shape_of


class NothingToExplain(LookupError):
    """No such model, or no mirror has it."""


class Explained(NamedTuple):
    """One mirror's view of one row. entries: (key, member, what SQL says, what Redis says)."""

    mirror: str
    key: str
    sql: str | None
    redis: str | None
    entries: list[tuple[str, str, str | None, str | None]]
    pending: list[int]


def mirrors_of(name: str) -> list[Mirror]:
    """The mirrors of a model ("catalog.Book" or "book"), or of that name. Raises NothingToExplain."""
    found = [m for m in registry.all_mirrors() if name in (m.name, _label(m.model))]
    found = found or [m for m in registry.all_mirrors() if m.model._meta.model_name == name.lower()]
    if not found:
        known = ", ".join(sorted({_label(m.model) for m in registry.all_mirrors()})) or "none"
        raise NothingToExplain(f"no mirror has a model called {name!r} (mirrored: {known})")
    return found


def _label(model: type[Model]) -> str:
    return str(model._meta.label)


def explain(name: str, pk: str, *, redis: Any = None) -> list[Explained]:
    """What is to be said of row ``pk`` of a model, by each mirror that has it."""
    with Session(redis or relay_client()) as session:
        return [_one(mirror, pk, session) for mirror in mirrors_of(name)]


def _one(mirror: Mirror, pk: str, session: Session) -> Explained:
    shape = shape_of(mirror)
    target = shape.targets([pk]).get(pk, ABSENT)
    said = shape.said([pk], session.ask(shape.ask([pk]) or [("PING",)]))[0]
    stated = [] if isinstance(mirror, EdgeMirror) else _stated(shape.before, pk, said)
    contributed = list(single(target.entries))
    entries = list(dict.fromkeys([*contributed, *single(stated)]))
    replies = session.ask([compare.ask(entry) for entry in entries]) if entries else []
    wanted = {says(entry)[:2]: says(entry)[2] for entry in contributed}
    rows = [
        (*says(entry)[:2], wanted.get(says(entry)[:2]), compare.said(entry, reply))
        for entry, reply in zip(entries, replies, strict=True)
    ]
    pending = [change.id for change in outbox.pending_of(mirror.name, [pk]).get(pk, [])]
    key = shape.watched(pk)
    return Explained(mirror.name, key, compare.show(target.own), compare.show(said), rows, pending)


def _stated(before: Any, pk: str, said: Any) -> list[Any]:
    """The entries that Redis' own record accounts for; none if it cannot be read."""
    try:
        return list(before(pk, said))
    except Exception:
        return []
