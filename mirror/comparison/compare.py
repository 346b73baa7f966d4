"""Close comparison: the expected and the actual entries of a few rows, one by one.

SQL and Redis cannot be read at the same moment. A difference counts only if the row was the same in SQL before and
after Redis was read, has no pending change, depends on no source with one, and still differs when it is compared again.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mirror.comparison import scan
from mirror.comparison.expected import describe_entry
from mirror.comparison.structures import structure_of
from mirror.comparison.targets import ABSENT, Target
from mirror.declare.entries import Entry, Field, Value, single
from mirror.declare.mirrors import Mirror
from mirror.models import Change
from mirror.outbox import changes, spread
from mirror.outbox.errors import raise_if_away, say
from mirror.redis.session import Session

RECHECK_PAUSE_SECONDS: Final = 0.05  # pause of a verification before it compares again

if TYPE_CHECKING:
    from mirror.kinds.base import Kind as KindOfMirror

Kind = Literal["missing", "stale", "stray", "unreadable", "quarantined"]
TRIES = 3
MAX_COMPARED = 200  # rows compared together
ASKED_TOGETHER = 500  # entries read in one round trip


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
        where = self.key
        if self.entry is not None:
            key, member, _ = describe_entry(self.entry)
            where = f"{key} {member}".rstrip()
        return f"{self.mirror} {self.pk}: {self.kind} {where!r}: SQL has {self.expected}, Redis has {self.found}"


def quarantined(names: Iterable[str]) -> list[Difference]:
    """Return the quarantined changes of these mirrors. SQL answers reads of their rows."""
    found = Change.objects.using(changes.using()).quarantined().filter(mirror__in=list(names)).order_by("id")
    latest: dict[tuple[str, str, str], Difference] = {}
    for change in found:
        key = change.mirror, change.source, change.key
        latest[key] = Difference(change.mirror, change.key, "quarantined", change.source, None, None, change.error)
    return list(latest.values())


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
    readable = [pk for pk in pks if pk not in errors]
    seen = _compare_once(kind, readable, before, strays, session)
    # SQL once more, after Redis was read: a row that changed meanwhile may differ only because of that.
    after, _ = read_targets(kind, readable)
    busy = changes.pending_of(mirror.name, list(pks)).keys()
    unsettled = set(busy)
    unsettled.update(pk for pk in readable if before.get(pk) != after.get(pk))
    steady = [found for found in seen if found.pk not in unsettled]
    lasting = set(leave_waiting(mirror, steady))
    result: list[Difference] = []
    for pk, error in errors.items():
        if pk not in busy:
            result.append(Difference(mirror.name, pk, "unreadable", "", None, None, error))
    result += [found for found in seen if found in lasting or (all_strays and found.kind == "stray")]
    return result


def _compare_once(
    kind: "KindOfMirror",
    pks: Sequence[str],
    targets: Mapping[str, Target],
    strays: Mapping[str, Iterable[Entry]],
    session: Session,
) -> list[Difference]:
    """Return the differences between these targets and Redis, whatever happens to the rows meanwhile."""
    mirror = kind.mirror
    owns = _read_owns(kind, pks, session)
    seen: list[Difference] = []
    asked: list[tuple[str, Entry]] = []
    expected: dict[str, dict[tuple[str, str], Entry]] = {}
    for pk in pks:
        target = targets.get(pk, ABSENT)
        seen += _compare_own(mirror, pk, target, owns[pk])
        entries = list(single(target.entries))
        expected[pk] = {describe_entry(entry)[:2]: entry for entry in entries}
        # An entry of the row may also have been found in Redis, as a possible stray.
        possible = set(entries)
        possible.update(strays.get(pk, ()))
        asked += [(pk, entry) for entry in possible]
    replies = _ask_entries([entry for _, entry in asked], session)
    for (pk, entry), reply in zip(asked, replies, strict=True):
        difference = _compare_entry(mirror, pk, entry, expected[pk], reply)
        if difference is not None:
            seen.append(difference)
    return seen


def _ask_entries(entries: Sequence[Entry], session: Session) -> list[Any]:
    """Return what Redis replies about the places of these entries."""
    replies: list[Any] = []
    for start in range(0, len(entries), ASKED_TOGETHER):
        batch = entries[start : start + ASKED_TOGETHER]
        replies += scan.ask(session, [structure_of(entry).ask(entry) for entry in batch])
    return replies


def read_targets(kind: "KindOfMirror", pks: Sequence[str]) -> tuple[dict[str, Target], dict[str, str]]:
    """Return the targets of these rows, and the error of each row that has none because of an error.

    Raises redis-py's errors, and Django's when SQL is away.
    """
    if not pks:
        return {}, {}
    try:
        return kind.targets(pks), {}
    except Exception as error:
        # Any error of the declaration, or a value that Python cannot represent.
        raise_if_away(error)
        if len(pks) == 1:
            return {}, {pks[0]: say(error)}
    # The halves, until each failing row is alone.
    middle = len(pks) // 2
    first, first_errors = read_targets(kind, pks[:middle])
    second, second_errors = read_targets(kind, pks[middle:])
    return first | second, first_errors | second_errors


def leave_waiting(mirror: Mirror, found: list[Difference]) -> list[Difference]:
    """Return the differences without those of rows that wait for the change of a source to be spread."""
    if not found:
        return found
    waiting = spread.find_waiting(mirror.name)
    if waiting is None:
        # There are too many sources to tell which rows wait.
        return []
    return [difference for difference in found if difference.pk not in waiting]


def _read_owns(kind: "KindOfMirror", pks: Sequence[str], session: Session) -> dict[str, Any]:
    """Return the values of the rows' own keys."""
    if not kind.mirror.has_record:
        return dict.fromkeys(pks)
    replies = scan.ask(session, kind.ask(pks))
    return dict(zip(pks, kind.read_states(pks, replies), strict=True))


def _name_difference(expected: object, found: object) -> Kind:
    if expected is None:
        return "stray"
    if found is None:
        return "missing"
    return "stale"


def _compare_own(mirror: Mirror, pk: str, target: Target, own: Any) -> list[Difference]:
    if not mirror.has_record or target.own == own:
        return []
    kind = _name_difference(target.own, own)
    key = mirror.record_key(pk)
    return [Difference(mirror.name, pk, kind, key, None, show(target.own), show(own))]


def show(own: Any) -> str | None:
    """Return the value of a row's own key as text."""
    if own is None:
        return None
    if isinstance(own, bytes):
        return own.decode(errors="replace")
    return str(own)


def _compare_entry(
    mirror: Mirror, pk: str, entry: Entry, expected: Mapping[tuple[str, str], Entry], reply: Any
) -> Difference | None:
    """Return the difference between the value in Redis at the place of an entry and the expected one of the row."""
    key, member, value = describe_entry(entry)
    should = expected.get((key, member))
    wanted = None if should is None else describe_entry(should)[2]
    found = structure_of(entry).read_value(reply)
    if wanted == found:
        return None
    # Another row may have taken the place over.
    if should is None and type(entry) in (Field, Value) and found != value:
        return None
    kind = _name_difference(should, found)
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
    distinct = list(dict.fromkeys(pks))
    found: list[Difference] = []
    size = kind.limit_batch(MAX_COMPARED)
    for start in range(0, len(distinct), size):
        batch = distinct[start : start + size]
        # Differences of a live site are mostly gone a moment later.
        for _ in number_tries():
            seen = look(kind, batch, strays, session, all_strays)
            batch = list(dict.fromkeys(difference.pk for difference in seen))
            if not batch:
                break
        found += seen
    return found
