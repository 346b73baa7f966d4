"""Scan Redis for the keys of a mirror and their content. Requests never use this.

SCAN finds the keys, and SSCAN and its kind read them in steps, many of them in one round trip.
"""

from collections.abc import Collection, Generator, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from redis.exceptions import ResponseError

from mirror.comparison.structures import BYTES, STRUCTURES, get_part, list_bits
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
        structure = STRUCTURES[self.family.kind]
        try:
            yield from structure.list_texts(self.raw)
        except UnicodeDecodeError as error:
            raise no_text(self.key) from error


class Bits(Collection[int]):
    """The offsets of the set bits in parts of a bitmap: an eighth of a byte for each bit, set or not."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, bytes]] = []  # each with the position of its first byte

    def add(self, start: int, raw: bytes) -> None:
        """Add a part that begins at this byte."""
        self._parts.append((start, raw))

    def __iter__(self) -> Iterator[int]:
        for start, raw in self._parts:
            yield from list_bits(raw, start)

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
    cursor, found = next_keys(session, "0", STEP)
    yield found
    while cursor not in DONE:
        cursor, found = next_keys(session, cursor, STEP)
        yield found


def next_keys(session: Session, cursor: str, count: int) -> tuple[str, list[str]]:
    """Take one step of a scan of all keys. Return the next cursor and about ``count`` keys."""
    after, found = session.ask([("SCAN", cursor, "COUNT", count)])[0]
    names = session.own_names(found)
    return _decode_cursor(after), _decode_names(names)


def next_members(session: Session, key: str, family: Family, cursor: str, count: int) -> tuple[Content, str]:
    """Take one step of a scan of a key. Return about ``count`` members (all of a small key) and the next cursor.

    The cursor of a bitmap is the next offset. Raises WrongType.
    """
    if family.kind == "bitmap":
        bits, following = _next_bits(session, key, int(cursor), count)
        return Content(key, family, bits), str(following)
    structure = STRUCTURES[family.kind]
    (reply,) = ask(session, [structure.scan(key, cursor, count)])
    raw, after = structure.read_page(reply)
    return Content(key, family, raw), _decode_cursor(after)


def _next_bits(session: Session, key: str, first: int, count: int) -> tuple[list[int], int]:
    """Return up to ``count`` offsets of set bits, from ``first`` on, and the offset to continue from, 0 at the end.

    They are those of one part of at most ``BYTES`` bytes, so there may be fewer of them, or none, before the end.
    """
    start = first // 8
    (part,) = ask(session, [get_part(key, start)])
    # The first byte may begin with bits of the previous step.
    bits = [offset for offset in list_bits(part, start) if offset >= first]
    if len(bits) > count:
        last = bits[count - 1]
        return bits[:count], last + 1
    is_end = len(part) < BYTES
    following = 0 if is_end else 8 * (start + BYTES)
    return bits, following


def _decode_cursor(found: Any) -> str:
    return found.decode() if isinstance(found, bytes) else str(found)


def _decode_names(names: Sequence[bytes]) -> list[str]:
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
        self._start = ""
        starts = [family.start for family in self.families]
        # Whether records' keys end with a number, as in nearly all mirrors.
        self._is_numbered = False
        if self.has_records:
            self._start, _, end = mirror.record_key("\0").partition("\0")
            self._is_numbered = end == "" and mirror.pk_of(f"{self._start}1") == "1"
            starts.append(self._start)
        self._starts = (*starts, *self.retired)

    def select(self, keys: Iterable[str]) -> list[str]:
        """Return the keys that may belong to the mirror: a verification asks each mirror for each key of Redis."""
        return [key for key in keys if key.startswith(self._starts)]

    def pk_of(self, key: str) -> str | None:
        """Return the row with this key of its record, or None."""
        if not self.has_records or not key.startswith(self._start):
            return None
        if self._is_numbered:
            # The quick way: the mirror's own function takes longer, and a verification asks for each key of Redis.
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


def find_absent(mirrors: Iterable[Mirror], redis: RedisClient) -> set[str]:
    """Return the names of those mirrors of which Redis has no key, and therefore no strays, in one scan."""
    left = {mirror.name: Owned(mirror) for mirror in mirrors}
    with Session(redis) as session:
        for found in keys(session):
            left = {name: owned for name, owned in left.items() if not any(map(owned.has, owned.select(found)))}
            if not left:
                break
    return set(left)


def contents(session: Session, named: Iterable[tuple[str, Family]]) -> Generator[Content, None, None]:
    """Yield the content of these keys, many per round trip. Redis reads ahead. Raises WrongType.

    The session must not be used for anything else until the end.
    """
    todo = list(named)
    batches = [todo[start : start + PIPE] for start in range(0, len(todo), PIPE)]
    unfinished: list[_Unfinished] = []
    bitmaps: list[tuple[str, Family, bytes]] = []
    for batch, replies in _read_ahead(session, batches):
        for (key, family), reply in zip(batch, replies, strict=True):
            raw, cursor = STRUCTURES[family.kind].read_page(reply)
            if cursor in DONE:
                yield Content(key, family, raw)
            elif family.kind == "bitmap":
                bitmaps.append((key, family, reply))
            else:
                unfinished.append(_Unfinished(key, family, raw, cursor))
    # The session is free from here on: all replies to the first commands were read.
    yield from _finish_scans(session, unfinished)
    # One after the other, because each may be long.
    for key, family, first in bitmaps:
        yield Content(key, family, _finish_bitmap(session, key, first))


class _Unfinished(NamedTuple):
    """A key of which a scan has found a part."""

    key: str
    family: Family
    found: list[Any]
    cursor: Any

    def continue_scan(self) -> Command:
        """Return the command that reads the next part."""
        return STRUCTURES[self.family.kind].scan(self.key, self.cursor, STEP)


def _finish_scans(session: Session, unfinished: list[_Unfinished]) -> Generator[Content, None, None]:
    """Continue unfinished scans, one step of each per round trip."""
    while unfinished:
        replies = ask(session, [each.continue_scan() for each in unfinished])
        again: list[_Unfinished] = []
        for each, reply in zip(unfinished, replies, strict=True):
            raw, cursor = STRUCTURES[each.family.kind].read_page(reply)
            each.found.extend(raw)
            if cursor in DONE:
                # A scan may return a member twice.
                distinct = list(dict.fromkeys(each.found))
                yield Content(each.key, each.family, distinct)
            else:
                again.append(each._replace(cursor=cursor))
        unfinished = again


def _finish_bitmap(session: Session, key: str, first: bytes) -> Bits:
    """Return the bits of a bitmap with this first part."""
    bits = Bits()
    start = 0
    parts = [first]
    while True:
        for part in parts:
            bits.add(start, part)
            start += len(part)
        # Only the last part is shorter than the others.
        if start % BYTES or not parts[-1]:
            return bits
        parts = ask(session, [get_part(key, start + BYTES * number) for number in range(PARTS)])


def _read_ahead(
    session: Session, batches: list[list[tuple[str, Family]]]
) -> Generator[tuple[list[tuple[str, Family]], list[Any]], None, None]:
    """Yield each batch with its replies, after requesting the next one."""
    for number, batch in enumerate(batches):
        scans = _list_scans(batch)
        if number == 0:
            session.post(scans)
        replies = collect(session, scans)
        if batch is not batches[-1]:
            session.post(_list_scans(batches[number + 1]))
        yield batch, replies


def _list_scans(batch: list[tuple[str, Family]]) -> list[Command]:
    return [STRUCTURES[family.kind].scan(key, 0, STEP) for key, family in batch]


DONE = (b"0", "0", 0)
# The type of key that each command reads.
_READS: Final = {
    "GET": "string",
    "GETBIT": "string",
    "GETRANGE": "string",
    "HGET": "hash",
    "HGETALL": "hash",
    "HSCAN": "hash",
    "LRANGE": "list",
    "MGET": "string",
    "SISMEMBER": "set",
    "SSCAN": "set",
    "ZRANGE": "zset",
    "ZSCAN": "zset",
    "ZSCORE": "zset",
}
PARTS = 32  # of a bitmap in one round trip


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
            name = with_prefix(command[1])
            kind = _READS[command[0]]
            raise WrongType(f"the key {name!r} is not a {kind}; delete it, then repair") from error
    return session.ask(commands)
