"""Scan Redis for the keys of a mirror and their content. Requests never use this.

SCAN finds the keys, and SSCAN and its kind read them in steps, many of them in one round trip.
"""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from redis.exceptions import ResponseError

from mirror.declare.mirrors import Mirror
from mirror.declare.watches import Family
from mirror.redis.naming import with_prefix
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient

STEP = 1000  # keys or members in one command
PIPE = 500  # commands in one round trip


class Content(NamedTuple):
    """The content of a family's key in the form of Redis: members; pairs of member and score or value; or [value].

    Of a bitmap these are the offsets of the set bits, as integers.
    """

    key: str
    family: Family
    raw: Collection[Any]

    def items(self) -> Iterator[tuple[str, str]]:
        """Yield (member, value) as text. A set's members have the value "", and a string has the member "".

        Raises WrongType if a part is not valid UTF-8.
        """
        try:
            yield from self._texts()
        except UnicodeDecodeError as error:
            raise no_text(self.key) from error

    def _texts(self) -> Iterator[tuple[str, str]]:
        match self.family.kind:
            case "set":
                return ((member.decode(), "") for member in self.raw)
            case "zset":
                return ((member.decode(), repr(float(score))) for member, score in self.raw)
            case "string":
                return (("", value.decode()) for value in self.raw)
            case "bitmap":
                return ((str(offset), "") for offset in self.raw)
            case _:
                return ((name.decode(), value.decode()) for name, value in self.raw)


class Bits(Collection[int]):
    """The offsets of the set bits in parts of a bitmap: an eighth of a byte for each bit, set or not."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []  # each with the position of its first byte

    def add(self, start: int, raw: bytes) -> None:
        """Add a part that begins at this byte."""
        self._parts.append((start, raw))

    def __iter__(self) -> Iterator[int]:
        for start, raw in self._parts:
            yield from _list_bits(raw, start)

    def __len__(self) -> int:
        return sum(int.from_bytes(raw).bit_count() for _, raw in self._parts)

    def __contains__(self, offset: object) -> bool:
        return any(offset == each for each in self)


class WrongType(RuntimeError):
    """A key has the wrong type or is not valid UTF-8. The message names it."""


def no_text(key: str) -> WrongType:
    """Return the error for a key with content that is not valid UTF-8."""
    return WrongType(f"the key {with_prefix(key)!r} holds something that is no text; delete it, then repair")


def keys(session: Session) -> Generator[list[str], None, None]:
    """Yield all keys, in lists of about a thousand. Some may be repeated."""
    cursor = "0"
    while True:
        cursor, found = next_keys(session, cursor, STEP)
        yield found
        if cursor in DONE:
            return


def next_keys(session: Session, cursor: str, count: int) -> tuple[str, list[str]]:
    """Take one step of a scan of all keys. Return the next cursor and about ``count`` keys."""
    after, found = session.ask([("SCAN", cursor, "COUNT", count)])[0]
    return _cursor(after), _texts(session.own_names(found))


def next_members(session: Session, key: str, family: Family, cursor: str, count: int) -> tuple[Content, str]:
    """Take one step of a scan of a key. Return about ``count`` members (all of a small key) and the next cursor.

    The cursor of a bitmap is the next offset. Raises WrongType.
    """
    if family.kind == "bitmap":
        start = int(cursor) // 8
        (reply,) = ask(session, [_get_part(key, start)])
        bits = [offset for offset in _list_bits(reply, start) if offset >= int(cursor)]
        following = 0  # the end
        if len(bits) > count:
            following = bits[count - 1] + 1
        elif len(reply) == BYTES:
            following = 8 * (start + BYTES)
        return Content(key, family, bits[:count]), str(following)
    (reply,) = ask(session, [_first(key, family, cursor, count)])
    raw, after = _page(family, reply)
    return Content(key, family, raw), _cursor(after)


def _cursor(found: Any) -> str:
    return found.decode() if isinstance(found, bytes) else str(found)


def _texts(names: Sequence[bytes]) -> list[str]:
    """Return names as text, without those that are not valid UTF-8, which the site never writes."""
    try:
        return [name.decode() for name in names]
    except UnicodeDecodeError:
        texts = [name.decode(errors="replace") for name in names]
        return [text for text, name in zip(texts, names, strict=True) if text.encode() == name]


class Owned:
    """The keys that a mirror owns, prepared to recognize many keys quickly."""

    def __init__(self, mirror: Mirror) -> None:
        self.mirror = mirror
        self.families = tuple(mirror.families())
        self.retired = tuple(mirror.retired())
        self.has_records = mirror.has_record
        self._start, _, end = mirror.record_key("\0").partition("\0") if self.has_records else ("", "", "")
        # Whether records' keys end with a number, as in nearly all mirrors.
        self._numbered = self.has_records and not end and mirror.pk_of(f"{self._start}1") == "1"

    def pk_of(self, key: str) -> str | None:
        """Return the row with this key of its record, or None."""
        if not (self.has_records and key.startswith(self._start)):
            return None
        if self._numbered:
            rest = key[len(self._start) :]
            if len(rest) < 10 and rest.isdecimal() and rest.isascii() and rest[0] != "0":
                return rest
        return self.mirror.pk_of(key)

    def family_of(self, key: str) -> Family | None:
        """Return the family of ``key``, or None."""
        for family in self.families:
            if family.has(key):
                return family
        return None

    def is_retired(self, key: str) -> bool:
        """Return whether ``key`` belongs to an earlier layout."""
        return key.startswith(self.retired)

    def has(self, key: str) -> bool:
        """Return whether ``key`` belongs to the mirror, in the present or an earlier layout."""
        return self.is_retired(key) or self.family_of(key) is not None or self.pk_of(key) is not None


def is_empty(mirror: Mirror, redis: RedisClient) -> bool:
    """Return whether Redis has no key of this mirror, and therefore no strays."""
    if mirror.is_in_sql:
        return False  # its strays are in SQL
    owned = Owned(mirror)
    with Session(redis) as session:
        for found in keys(session):
            if any(map(owned.has, found)):
                return False
    return True


def contents(session: Session, named: Iterable[tuple[str, Family]]) -> Generator[Content, None, None]:
    """Yield the content of these keys, many per round trip. Redis reads ahead. Raises WrongType.

    The session must not be used for anything else until the end.
    """
    todo = list(named)
    batches = [todo[start : start + PIPE] for start in range(0, len(todo), PIPE)]
    unfinished: list[tuple[str, Family, list[Any], Any]] = []
    bitmaps: list[tuple[str, Family, bytes]] = []
    for batch, replies in _read_ahead(session, batches):
        for (key, family), reply in zip(batch, replies, strict=True):
            raw, cursor = _page(family, reply)
            if cursor in DONE:
                yield Content(key, family, raw)
            elif family.kind == "bitmap":
                bitmaps.append((key, family, reply))
            else:
                unfinished.append((key, family, raw, cursor))
    yield from _finish(session, unfinished)
    for key, family, first in bitmaps:  # one after the other, because each may be long
        yield Content(key, family, _finish_bitmap(session, key, first))


def _finish(session: Session, unfinished: list[tuple[str, Family, list[Any], Any]]) -> Generator[Content, None, None]:
    """Continue unfinished scans, one step of each per round trip. A scan may return a member twice."""
    while unfinished:
        replies = ask(session, [_first(key, family, cursor) for key, family, _, cursor in unfinished])
        again: list[tuple[str, Family, list[Any], Any]] = []
        for (key, family, found, _), reply in zip(unfinished, replies, strict=True):
            raw, cursor = _page(family, reply)
            found.extend(raw)
            if cursor in DONE:
                yield Content(key, family, list(dict.fromkeys(found)))
            else:
                again.append((key, family, found, cursor))
        unfinished = again


def _finish_bitmap(session: Session, key: str, first: bytes) -> Bits:
    """Return the bits of a bitmap with this first part."""
    bits, start, parts = Bits(), 0, [first]
    while True:
        for part in parts:
            bits.add(start, part)
            start += len(part)
        if start % BYTES or not parts[-1]:  # the last part is shorter
            return bits
        parts = ask(session, [_get_part(key, start + BYTES * number) for number in range(PARTS)])


def _read_ahead(
    session: Session, batches: list[list[tuple[str, Family]]]
) -> Generator[tuple[list[tuple[str, Family]], list[Any]], None, None]:
    """Yield each batch with its replies, after requesting the next one."""
    for number, batch in enumerate(batches):
        if number == 0:
            session.post(_scans(batch))
        replies = collect(session, _scans(batch))
        if number + 1 < len(batches):
            session.post(_scans(batches[number + 1]))
        yield batch, replies


def _scans(batch: list[tuple[str, Family]]) -> list[Command]:
    return [_first(key, family) for key, family in batch]


DONE = (b"0", "0", 0)
_SCANS = {"set": "SSCAN", "zset": "ZSCAN", "hash": "HSCAN"}
# The type of key that each command reads.
_READS = {command: kind for kind, command in _SCANS.items()}
_READS |= {"GET": "string", "MGET": "string", "HGETALL": "hash", "HGET": "hash", "LRANGE": "list"}
_READS |= {"SISMEMBER": "set", "ZSCORE": "zset", "ZRANGE": "zset", "GETBIT": "string", "GETRANGE": "string"}
BYTES = 8192  # of a bitmap in one command
PARTS = 32  # of a bitmap in one round trip


def _first(key: str, family: Family, cursor: Any = 0, count: int = STEP) -> Command:
    if family.kind == "string":
        return ("GET", key)
    if family.kind == "bitmap":
        return _get_part(key, 0)
    return (_SCANS[family.kind], key, cursor, "COUNT", count)


def _page(family: Family, reply: Any) -> tuple[list[Any], Any]:
    """Return the content in the reply to ``_first``, and the next cursor."""
    if family.kind == "string":
        return [] if reply is None else [reply], 0
    if family.kind == "bitmap":
        return ([], BYTES) if len(reply) == BYTES else (_list_bits(reply, 0), 0)
    after, raw = reply
    return _paired(family, raw), after


def _get_part(key: str, start: int) -> Command:
    """Return the command that reads a part of a bitmap from this byte on."""
    return ("GETRANGE", key, start, start + BYTES - 1)


def _list_bits(raw: bytes, start: int) -> list[int]:
    """Return the offsets of the set bits in a part of a bitmap that begins at this byte."""
    offsets: list[int] = []
    for place, byte in enumerate(raw, start):
        if byte:  # nearly all bytes of a large bitmap are empty
            offsets += [8 * place + bit for bit in range(8) if byte & 128 >> bit]
    return offsets


def ask(session: Session, commands: Sequence[Command]) -> list[Any]:
    """Send commands as ``session.ask`` does. Raises WrongType, which names the key, for a wrong type."""
    session.post(commands)
    return collect(session, commands)


def collect(session: Session, commands: Sequence[Command]) -> list[Any]:
    """Collect the replies to the posted ``commands``. Raises WrongType like ``ask``."""
    try:
        return session.collect()
    except ResponseError as error:
        if not str(error).startswith("WRONGTYPE"):
            raise
    # The reply names no key, so the commands are sent again one by one until one fails.
    for command in commands:
        try:
            session.ask([command])
        except ResponseError as error:
            name, kind = with_prefix(command[1]), _READS[command[0]]
            raise WrongType(f"the key {name!r} is not a {kind}; delete it, then repair") from error
    return session.ask(commands)


def _paired(family: Family, raw: Any) -> list[Any]:
    if family.kind == "set":
        return raw if isinstance(raw, list) else list(raw)
    if isinstance(raw, dict):
        return list(raw.items())
    return list(zip(raw[::2], raw[1::2], strict=True))
