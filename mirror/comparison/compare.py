"""Close comparison: the expected and the actual entries of a few rows, one by one.

SQL and Redis cannot be read at the same moment. A difference counts only if the row was the same in SQL before and
after Redis was read, has no pending change, depends on no source with one, and still differs when it is compared again.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mirror.comparison import scan
from mirror.comparison.expected import says
from mirror.comparison.targets import ABSENT, Target
from mirror.declare.entries import Bit, Entry, Field, Member, Scored, Value, single
from mirror.declare.mirrors import Mirror
from mirror.models import Change
from mirror.outbox import changes, spread
from mirror.outbox.errors import raise_if_away, say
from mirror.redis.session import Command, Session

RECHECK_PAUSE_SECONDS: Final = 0.05  # pause of a verification before it compares again

if TYPE_CHECKING:
    from mirror.kinds.base import Kind as KindOfMirror

Kind = Literal["missing", "stale", "stray", "unreadable", "quarantined"]
TRIES = 3
MAX_COMPARED = 200  # rows compared together


class Difference(NamedTuple):
    """A fact that differs between SQL and Redis. entry: None for the row's own key.

    For a quarantined change, ``key`` is its source and ``found`` its error. A row is unreadable if Python cannot
    represent a value (the date "infinity"), or if its declaration fails; ``found`` is the error.
    """

    mirror: str
    pk: str
    kind: Kind
    key: str
    entry: Entry | None
    expected: str | None
    found: str | None

    def __str__(self) -> str:
        if self.kind == "quarantined":
            return f"{self.mirror} {self.pk}: quarantined: {self.found}"
        if self.kind == "unreadable":
            return f"{self.mirror} {self.pk}: unreadable: {self.found}"
        where = self.key if self.entry is None else " ".join(filter(None, says(self.entry)[:2]))
        return f"{self.mirror} {self.pk}: {self.kind} {where!r}: SQL has {self.expected}, Redis has {self.found}"


def ask(entry: Entry) -> Command:
    """Return the command that reads the place of ``entry``."""
    match entry:
        case Member(key, member):
            return ("SISMEMBER", key, member)
        case Scored(key, member, _):
            return ("ZSCORE", key, member)
        case Field(key, field, _):
            return ("HGET", key, field)
        case Value(key, _):
            return ("GET", key)
        case Bit(key, offset):
            return ("GETBIT", key, offset)


def read_value(entry: Entry, reply: Any) -> str | None:
    """Return the value in Redis at an entry's place, written as by ``says``, or None without one."""
    if type(entry) in (Member, Bit):
        return "" if reply else None
    if reply is None:
        return None
    if type(entry) is Scored:
        return repr(float(reply))
    text: str = reply.decode(errors="replace")
    return text


def quarantined(names: Iterable[str]) -> list[Difference]:
    """Return the quarantined changes of these mirrors. SQL answers reads of their rows."""
    found = Change.objects.using(changes.using()).quarantined().filter(mirror__in=list(names)).order_by("id")
    rows = {(c.mirror, c.source, c.key): c.error for c in found}
    return [
        Difference(name, key, "quarantined", source, None, None, error) for (name, source, key), error in rows.items()
    ]


def look(
    kind: "KindOfMirror",
    pks: Sequence[str],
    strays: Mapping[str, Iterable[Entry]],
    session: Session,
    all_strays: bool = False,
) -> list[Difference]:
    """Compare these rows, and entries in Redis that may be strays (by row), once.

    all_strays: return also strays of rows with pending changes. Only such a change names a stray that no record names.
    """
    mirror = kind.mirror
    before, errors = read_targets(kind, pks)
    unreadable = [Difference(mirror.name, pk, "unreadable", "", None, None, text) for pk, text in errors.items()]
    pks = [pk for pk in pks if pk not in errors]
    owns = _read_owns(kind, pks, session)
    asked = [(pk, e) for pk in pks for e in {*single(before.get(pk, ABSENT).entries), *strays.get(pk, ())}]
    found: list[Any] = []
    for start in range(0, len(asked), 500):
        found += scan.ask(session, [ask(entry) for _, entry in asked[start : start + 500]])
    after, _ = read_targets(kind, pks)
    busy = changes.pending_of(mirror.name, [*pks, *errors]).keys()
    steady = {pk for pk in pks if pk not in busy and before.get(pk) == after.get(pk)}
    own = [d for pk in pks for d in _own(mirror, pk, before.get(pk, ABSENT), owns[pk])]
    expected = {pk: {says(e)[:2]: e for e in single(t.entries)} for pk, t in before.items()}
    seen = own + [
        difference
        for (pk, entry), reply in zip(asked, found, strict=True)
        if (difference := _entry(mirror, pk, entry, expected.get(pk, {}), reply))
    ]
    lasting = set(leave_waiting(mirror, [d for d in seen if d.pk in steady]))
    unreadable = [d for d in unreadable if d.pk not in busy]
    return unreadable + [d for d in seen if d in lasting or (all_strays and d.kind == "stray")]


def read_targets(kind: "KindOfMirror", pks: Sequence[str]) -> tuple[dict[str, Target], dict[str, str]]:
    """Return the targets of these rows, and the error of each row that has none because of an error.

    Raises redis-py's errors, and Django's when SQL is away.
    """
    if not pks:
        return {}, {}
    try:
        return kind.targets(pks), {}
    except Exception as error:  # any error of the declaration, or a value that Python cannot represent
        raise_if_away(error)
        if len(pks) == 1:
            return {}, {pks[0]: say(error)}
    middle = len(pks) // 2
    (first, errors), (second, more) = (read_targets(kind, half) for half in (pks[:middle], pks[middle:]))
    return first | second, errors | more


def leave_waiting(mirror: Mirror, found: list[Difference]) -> list[Difference]:
    """Return the differences without those of rows that wait for the change of a source to be spread."""
    waiting = spread.find_waiting(mirror.name) if found else set[str]()
    return [] if waiting is None else [d for d in found if d.pk not in waiting]


def _read_owns(kind: "KindOfMirror", pks: Sequence[str], session: Session) -> dict[str, Any]:
    """Return the values of the rows' own keys."""
    if not kind.mirror.has_record:
        return dict.fromkeys(pks)
    return dict(zip(pks, kind.read_states(pks, scan.ask(session, kind.ask(pks))), strict=True))


def _own(mirror: Mirror, pk: str, target: Target, own: Any) -> list[Difference]:
    if not mirror.has_record or target.own == own:
        return []
    kind: Kind = "stray" if target.own is None else "missing" if own is None else "stale"
    key = mirror.record_key(pk)
    return [Difference(mirror.name, pk, kind, key, None, show(target.own), show(own))]


def show(own: Any) -> str | None:
    """Return the value of a row's own key as text."""
    if own is None:
        return None
    return own.decode(errors="replace") if isinstance(own, bytes) else str(own)


def _entry(
    mirror: Mirror, pk: str, entry: Entry, expected: Mapping[tuple[str, str], Entry], reply: Any
) -> Difference | None:
    key, member, _ = says(entry)
    should = expected.get((key, member))
    wanted, found = says(should)[2] if should else None, read_value(entry, reply)
    if wanted == found:
        return None
    if should is None and type(entry) in (Field, Value) and found != says(entry)[2]:
        return None  # another row has taken this place over
    kind: Kind = "stray" if should is None else "missing" if found is None else "stale"
    return Difference(mirror.name, pk, kind, key, entry, wanted, found)


def number_tries() -> Iterator[int]:
    """Number the comparisons of a possible difference, with a pause before each but the first."""
    for attempt in range(TRIES):
        if attempt:
            time.sleep(RECHECK_PAUSE_SECONDS)
        yield attempt


def differences(
    kind: "KindOfMirror",
    pks: Iterable[str],
    strays: Mapping[str, Iterable[Entry]],
    session: Session,
    all_strays: bool = False,
) -> list[Difference]:
    """Return the differences of these rows that every comparison finds. all_strays: see ``look``."""
    todo, found = list(dict.fromkeys(pks)), []
    size = kind.limit_batch(MAX_COMPARED)
    for start in range(0, len(todo), size):
        batch = todo[start : start + size]
        for _ in number_tries():
            seen = look(kind, batch, strays, session, all_strays)
            batch = list(dict.fromkeys(d.pk for d in seen))
            if not batch:
                break
        found += seen
    return found
