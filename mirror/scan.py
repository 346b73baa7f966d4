"""Walking through Redis itself: which keys there are of a mirror, and what they hold.

Nothing here is ever asked on behalf of a request. Keys are found by SCAN, sets read by SSCAN in steps, many of
them in one round trip.
"""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, NamedTuple

from redis.exceptions import ResponseError

from mirror.declare import EdgeMirror, Family, Mirror, SummaryMirror
from mirror.session import Session

STEP = 1000  # keys, or members, a command
PIPE = 250  # commands a round trip


class Content(NamedTuple):
    """What one key of a family holds: (member, what it says); what a set's member says is ""."""

    key: str
    family: Family
    items: list[tuple[str, str]]


class WrongType(Exception):
    """A key of a family is not what it should be; ``args[0]`` is the key."""


def keys(session: Session) -> Generator[list[str], None, None]:
    """All keys there are, in lists of about a thousand; some may come twice."""
    cursor: Any = b"0"
    while True:
        cursor, found = session.ask([("SCAN", cursor, "COUNT", STEP)])[0]
        yield [name.decode(errors="surrogateescape") for name in found]
        if cursor in (b"0", "0", 0):
            return


class Owned:
    """What a mirror owns, made ready to recognise many keys."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.families = tuple(mirror.families())
        self.retired = tuple(mirror.retired())
        self.has_records = not isinstance(mirror, EdgeMirror | SummaryMirror)
        self._start = mirror.key("\0").partition("\0")[0] if self.has_records else ""

    def pk_of(self, key: str) -> str | None:
        """The row whose record ``key`` is, or None."""
        return self.mirror.pk_of(key) if self.has_records and key.startswith(self._start) else None

    def family_of(self, key: str) -> Family | None:
        """The family that ``key`` belongs to, or None."""
        for family in self.families:
            if key == family.start if family.whole else key.startswith(family.start):
                return family
        return None

    def is_retired(self, key: str) -> bool:
        """Whether ``key`` is of an earlier layout."""
        return key.startswith(self.retired)

    def has(self, key: str) -> bool:
        """Whether ``key`` is the mirror's, now or in an earlier layout."""
        return self.is_retired(key) or self.family_of(key) is not None or self.pk_of(key) is not None


def is_empty(mirror: Mirror, redis: Any) -> bool:
    """Whether Redis holds no key at all of this mirror (then nothing in it can be stray)."""
    owned = Owned(mirror)
    with Session(redis) as session:
        return not any(owned.has(key) for found in keys(session) for key in found)


def contents(session: Session, named: Iterable[tuple[str, Family]]) -> Generator[Content, None, None]:
    """What these keys hold, many in a round trip. Raises WrongType."""
    todo = list(named)
    for start in range(0, len(todo), PIPE):
        yield from _several(session, todo[start : start + PIPE])


def _several(session: Session, named: Sequence[tuple[str, Family]]) -> Generator[Content, None, None]:
    replies = _ask(session, named, [_first(key, family) for key, family in named])
    for (key, family), reply in zip(named, replies, strict=True):
        if family.kind == "string":
            yield Content(key, family, [] if reply is None else [("", reply.decode())])
            continue
        cursor, raw = reply
        items = items_of(family.kind, raw)
        while cursor not in (b"0", "0", 0):
            cursor, raw = _ask(session, [(key, family)], [_first(key, family, cursor)])[0]
            items += items_of(family.kind, raw)
        yield Content(key, family, items)


_SCANS = {"set": "SSCAN", "zset": "ZSCAN", "hash": "HSCAN"}


def _first(key: str, family: Family, cursor: Any = 0) -> tuple[Any, ...]:
    if family.kind == "string":
        return ("GET", key)
    return (_SCANS[family.kind], key, cursor, "COUNT", STEP)


def _ask(session: Session, named: Sequence[tuple[str, Family]], commands: Sequence[Any]) -> list[Any]:
    try:
        return session.ask(commands)
    except ResponseError as error:
        if not str(error).startswith("WRONGTYPE"):
            raise
    for (key, _), command in zip(named, commands, strict=True):
        try:
            session.ask([command])
        except ResponseError as error:
            raise WrongType(key) from error
    return session.ask(commands)


def items_of(kind: str, raw: Any) -> list[tuple[str, str]]:
    """The members of one SCAN reply, with what they say (scores as Python writes a float)."""
    if kind == "set":
        return [(member.decode(), "") for member in raw]
    pairs = raw.items() if isinstance(raw, dict) else zip(raw[::2], raw[1::2], strict=True)
    if kind == "zset":
        return [(member.decode(), repr(float(score))) for member, score in pairs]
    return [(name.decode(), value.decode()) for name, value in pairs]


def remove_strays(mirror: Mirror, redis: Any) -> int:
    """After a rebuild: have everything taken away that no row accounts for. Returns how many entries."""
    from mirror import repair, verify

    owned = Owned(mirror)
    with Session(redis) as session:
        for found in keys(session):
            old = [key for key in found if owned.is_retired(key)]
            if old:
                session.ask([("UNLINK", key) for key in old])
    differences = verify.verify([mirror.name], redis=redis)
    repair.order(differences)
    repair.carry_out(differences, redis=redis)
    return sum(difference.kind == "stray" for difference in differences)
