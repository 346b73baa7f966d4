"""Compute the difference between two lists of entries, and the fewest commands that write it."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from mirror.declare.entries import Bit, Contribution, Entry, Field, Member, Members, OwnField, Scored, Value, single
from mirror.redis.session import Command

ARGUMENTS = 500  # members in one command, so that none takes long


def place(entry: Entry) -> tuple[Any, ...]:
    """Return an entry's place in Redis, without its value."""
    return entry[:1] if type(entry) is Value else entry[:2]


def difference(
    before: Sequence[Contribution], after: Sequence[Contribution]
) -> tuple[list[Entry], Sequence[Contribution]]:
    """Return the entries to remove and those to add, to get from ``before`` to ``after``."""
    if not before:
        return [], after
    # Usually few entries change, each in its place: then the others need not be listed one by one.
    if len(before) == len(after):
        old: set[Entry] = set()
        new: set[Entry] = set()
        for one, other in zip(before, after, strict=True):
            if one != other:
                old.update(single([one]))
                new.update(single([other]))
        is_nothing_removed = set(map(place, old)) <= set(map(place, new))
        if is_nothing_removed:
            return [], list(new - old)
    old = set(single(before))
    new = set(single(after))
    gone = old - new
    if gone:
        # An entry of which only the value changes is written over. Its removal would be a moment without it.
        places = set(map(place, new))
        gone = {entry for entry in gone if place(entry) not in places}
    return list(gone), list(new - old)


_Groups = defaultdict[str, list[Any]]


def _divide_arguments(key: str, command: str, arguments: list[Any], step: int) -> Iterable[Command]:
    """Yield the command for a key, several times if it has too many arguments."""
    for start in range(0, len(arguments), step):
        yield (command, key, *arguments[start : start + step])


def commands(remove: Iterable[Entry], add: Iterable[Contribution]) -> list[Command]:
    """Return the commands, grouped by key. Removals come first, so that added entries stay."""
    return _list_removals(remove) + _list_additions(add)


def _list_removals(entries: Iterable[Entry]) -> list[Command]:
    """Return the commands that remove entries."""
    members = {command: _Groups(list) for command in ("SREM", "ZREM", "HDEL")}
    cleared = _Groups(list)
    found: list[Command] = []
    for entry in entries:
        if isinstance(entry, Value):
            found.append(("DEL", entry.key))
        elif isinstance(entry, Bit):
            cleared[entry.key] += ("SET", "u1", entry.offset, 0)
        else:
            command = REMOVALS[type(entry)]
            members[command][entry.key].append(entry[1])
    for command, groups in members.items():
        for key, arguments in groups.items():
            found += _divide_arguments(key, command, arguments, ARGUMENTS)
    for key, arguments in cleared.items():
        found += _divide_arguments(key, "BITFIELD", arguments, 4 * ARGUMENTS)
    return found


def _list_additions(contributions: Iterable[Contribution]) -> list[Command]:
    """Return the commands that add entries."""
    sadd = _Groups(list)
    zadd = _Groups(list)
    hset = _Groups(list)
    bits = _Groups(list)
    pairs: list[Any] = []
    # No "match", which takes five times as long: this runs for every row of a rebuild.
    for fact in contributions:
        if isinstance(fact, Members):
            member = fact.member
            for key in fact.keys:
                sadd[key].append(member)
        elif isinstance(fact, Scored):
            zadd[fact.key] += (fact.score, fact.member)
        elif isinstance(fact, Member):
            sadd[fact.key].append(fact.member)
        elif isinstance(fact, Value):
            pairs += fact
        elif isinstance(fact, Bit):
            bits[fact.key] += ("SET", "u1", fact.offset, 1)
        else:
            hset[fact.key] += (fact.field, fact.value)
    found: list[Command] = []
    for groups, command, step in ((sadd, "SADD", 1), (zadd, "ZADD", 2), (hset, "HSET", 2), (bits, "BITFIELD", 4)):
        for key, arguments in groups.items():
            found += _divide_arguments(key, command, arguments, step * ARGUMENTS)
    if pairs:
        found.append(("MSET", *pairs))
    return found


TYPES: dict[str, type[Entry]] = {"set": Member, "zset": Scored, "hash": Field, "string": Value, "bitmap": Bit}
KINDS: dict[type, str] = {
    Member: "set",
    Scored: "zset",
    Field: "hash",
    OwnField: "hash",
    Value: "string",
    Bit: "bitmap",
}
# Of entries that are members of a structure. The others have a command each.
REMOVALS: dict[type, str] = {Member: "SREM", Scored: "ZREM", Field: "HDEL", OwnField: "HDEL"}


def as_list(entry: Entry) -> list[Any]:
    """Return an entry in a form for JSON: its kind, then its parts."""
    return [KINDS[type(entry)], *entry]


def from_list(parts: Sequence[Any]) -> Entry:
    """Return the entry that ``as_list`` encoded."""
    kind, *rest = parts
    made: Entry = TYPES[kind](*rest)
    return made


def encode_feed(remove: Iterable[Entry], add: Iterable[Contribution]) -> bytes:
    """Return a feed entry for a change: a JSON list of [op, kind, key, member, score], op 1 to add and 0 to remove.

    An infinite score, which JSON lacks, is written as text.
    """
    rows = [[0, *as_list(entry)] for entry in remove]
    rows += [[1, *as_list(entry)] for entry in single(add)]
    for row in rows:
        score = row[-1]
        if isinstance(score, float) and math.isinf(score):
            row[-1] = str(score)
    return orjson.dumps(rows)
