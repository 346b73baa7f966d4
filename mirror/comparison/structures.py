"""The structures that hold entries in Redis: how an entry of each is read, and written as text."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from mirror.declare.entries import Bit, Entry, Field, Member, OwnField, Scored, Value
from mirror.redis.session import Command

BYTES: Final = 8192  # of a bitmap in one command
Raw = Collection[Any]  # members; pairs of member and score or value; or [value]; of a bitmap the offsets


class Structure(ABC):
    """One type of key. The parts of an entry are its key, its member (or field, or offset), and its value as text."""

    scan_name: str  # the command that reads a key in steps

    @abstractmethod
    def describe(self, entry: Any) -> tuple[str, str, str]:
        """Return the parts of an entry, with "" for a part that this structure lacks."""

    @abstractmethod
    def make_entry(self, key: str, member: str, value: str) -> Entry:
        """Return the entry with these parts."""

    @abstractmethod
    def ask(self, entry: Any) -> Command:
        """Return the command that reads the place of an entry."""

    @abstractmethod
    def read_value(self, reply: Any) -> str | None:
        """Return the value at a place as text, from the reply to ``ask``, or None without one."""

    @abstractmethod
    def list_texts(self, raw: Raw) -> Iterator[tuple[str, str]]:
        """Yield member and value of each entry. Raises UnicodeDecodeError."""

    def list_hashed(self, raw: Raw) -> Iterable[Any]:
        """Return the values whose hashes make the checksum of a key (``mirror.comparison.expected``)."""
        return raw

    def scan(self, key: str, cursor: Any, count: int) -> Command:
        """Return the command that reads about ``count`` entries of a key from this cursor on."""
        return (self.scan_name, key, cursor, "COUNT", count)

    def read_page(self, reply: Any) -> tuple[list[Any], Any]:
        """Return the raw entries in the reply to ``scan``, and the next cursor."""
        cursor, raw = reply
        return self.list_raw(raw), cursor

    def list_raw(self, raw: Any) -> list[Any]:
        """Return the entries in a reply, which depend on the protocol of the connection: pairs, or a flat list."""
        if isinstance(raw, dict):
            return list(raw.items())
        return list(zip(raw[::2], raw[1::2], strict=True))


class Sets(Structure):
    """Sets of members, which have no values."""

    scan_name = "SSCAN"

    def describe(self, entry: Member) -> tuple[str, str, str]:
        return entry.key, entry.member, ""

    def make_entry(self, key: str, member: str, value: str) -> Entry:
        return Member(key, member)

    def ask(self, entry: Member) -> Command:
        return ("SISMEMBER", entry.key, entry.member)

    def read_value(self, reply: Any) -> str | None:
        return "" if reply else None

    def list_texts(self, raw: Raw) -> Iterator[tuple[str, str]]:
        for member in raw:
            yield member.decode(), ""

    def list_raw(self, raw: Any) -> list[Any]:
        return raw if isinstance(raw, list) else list(raw)


def _write_score(score: Any) -> str:
    # 1 and 1.0 are the same score, and so are 0.0 and -0.0.
    return repr(float(score) + 0.0)


class SortedSets(Structure):
    """Sorted sets of members with scores."""

    scan_name = "ZSCAN"

    def describe(self, entry: Scored) -> tuple[str, str, str]:
        return entry.key, entry.member, _write_score(entry.score)

    def make_entry(self, key: str, member: str, value: str) -> Entry:
        return Scored(key, member, float(value))

    def ask(self, entry: Scored) -> Command:
        return ("ZSCORE", entry.key, entry.member)

    def read_value(self, reply: Any) -> str | None:
        return None if reply is None else _write_score(reply)

    def list_texts(self, raw: Raw) -> Iterator[tuple[str, str]]:
        for member, score in raw:
            yield member.decode(), _write_score(score)

    def list_hashed(self, raw: Raw) -> Iterable[Any]:
        # Redis may write a score in another form than Python.
        return ((member, float(score)) for member, score in raw)


class Hashes(Structure):
    """Hashes of fields with values."""

    scan_name = "HSCAN"

    def describe(self, entry: Field) -> tuple[str, str, str]:
        return entry.key, entry.field, entry.value

    def make_entry(self, key: str, member: str, value: str) -> Entry:
        return Field(key, member, value)

    def ask(self, entry: Field) -> Command:
        return ("HGET", entry.key, entry.field)

    def read_value(self, reply: Any) -> str | None:
        return None if reply is None else reply.decode(errors="replace")

    def list_texts(self, raw: Raw) -> Iterator[tuple[str, str]]:
        for field, value in raw:
            yield field.decode(), value.decode()


class Strings(Structure):
    """Strings, which have no members. One command reads a whole key."""

    def describe(self, entry: Value) -> tuple[str, str, str]:
        return entry.key, "", entry.value

    def make_entry(self, key: str, member: str, value: str) -> Entry:
        return Value(key, value)

    def ask(self, entry: Value) -> Command:
        return ("GET", entry.key)

    def read_value(self, reply: Any) -> str | None:
        return None if reply is None else reply.decode(errors="replace")

    def list_texts(self, raw: Raw) -> Iterator[tuple[str, str]]:
        for value in raw:
            yield "", value.decode()

    def scan(self, key: str, cursor: Any, count: int) -> Command:
        return ("GET", key)

    def read_page(self, reply: Any) -> tuple[list[Any], Any]:
        raw = [] if reply is None else [reply]
        return raw, 0


class Bitmaps(Structure):
    """Bitmaps, whose set bits are entries without values. They are read in parts of ``BYTES``."""

    def describe(self, entry: Bit) -> tuple[str, str, str]:
        return entry.key, str(entry.offset), ""

    def make_entry(self, key: str, member: str, value: str) -> Entry:
        return Bit(key, int(member))

    def ask(self, entry: Bit) -> Command:
        return ("GETBIT", entry.key, entry.offset)

    def read_value(self, reply: Any) -> str | None:
        return "" if reply else None

    def list_texts(self, raw: Raw) -> Iterator[tuple[str, str]]:
        for offset in raw:
            yield str(offset), ""

    def list_hashed(self, raw: Raw) -> Iterable[Any]:
        # In tuples, as in ``Sums.add``: an integer is its own hash.
        return ((offset,) for offset in raw)

    def scan(self, key: str, cursor: Any, count: int) -> Command:
        return get_part(key, 0)

    def read_page(self, reply: Any) -> tuple[list[Any], Any]:
        if len(reply) == BYTES:
            # This is the first part of a longer bitmap, which is read in a way of its own (``scan.contents``).
            return [], BYTES
        return list_bits(reply, 0), 0


STRUCTURES: Final[Mapping[str, Structure]] = {
    "set": Sets(),
    "zset": SortedSets(),
    "hash": Hashes(),
    "string": Strings(),
    "bitmap": Bitmaps(),
}
_BY_ENTRY: Final[Mapping[type, Structure]] = {
    Member: STRUCTURES["set"],
    Scored: STRUCTURES["zset"],
    Field: STRUCTURES["hash"],
    OwnField: STRUCTURES["hash"],
    Value: STRUCTURES["string"],
    Bit: STRUCTURES["bitmap"],
}


def structure_of(entry: Entry) -> Structure:
    """Return the structure that holds an entry."""
    return _BY_ENTRY[type(entry)]


def get_part(key: str, start: int) -> Command:
    """Return the command that reads a part of a bitmap from this byte on."""
    return ("GETRANGE", key, start, start + BYTES - 1)


def list_bits(raw: bytes, start: int) -> list[int]:
    """Return the offsets of the set bits in a part of a bitmap that begins at this byte."""
    offsets: list[int] = []
    for place, byte in enumerate(raw, start):
        # Nearly all bytes of a large bitmap are empty.
        if byte:
            offsets += [8 * place + bit for bit in range(8) if byte & 128 >> bit]
    return offsets
