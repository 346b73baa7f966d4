"""Errors for values of the wrong type in a declaration's results, with mirror, row and place.

Redis would store many of them as text, and every later comparison with SQL would show a difference.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from math import isnan
from typing import Any, Final, NamedTuple

from mirror.declare.entries import Bit, Contribution, Field, Member, Members, OwnField, Scored, Value
from mirror.utils import json_texts

# Entry types with the types of their parts. One look-up per entry suffices, which matters for every row of a rebuild.
_USUAL: Final[frozenset[tuple[type, ...]]] = frozenset(
    [
        (Member, str, str),
        (Members, list, str),
        (Members, tuple, str),
        (Scored, str, str, float),
        (Scored, str, str, int),
        (Field, str, str, str),
        (OwnField, str, str, str),
        (Value, str, str),
        (Bit, str, int),
    ]
)
ENTRIES: Final = (Member, Members, Scored, Field, OwnField, Value, Bit)
_KINDS: Final = frozenset(ENTRIES)
_FIELD: Final = frozenset([str, int, float, bool])
_TEXT: Final = frozenset([str])
_ID: Final = frozenset([int])


def list_entries(mirror: str, pk: str, made: Iterable[Contribution]) -> list[Contribution]:
    """Return the entries of a row. Raise TypeError for one of the wrong type, or with NaN as its score."""
    # A declaration without types may return anything.
    found: object = made
    if not isinstance(found, Iterable):
        raise TypeError(f"{mirror}: the entries of {pk!r} are {made!r}, and have to be a list")
    entries = list(made)
    check_entries(mirror, pk, entries)
    return entries


def check_keys(mirror: str, method: str, keys: Sequence[Any]) -> None:
    """Raise TypeError unless all keys that a method returned are text."""
    # The usual case, in one step. A rebuild calls this with each batch of rows.
    if _TEXT.issuperset(map(type, keys)):
        return
    for key in keys:
        if type(key) is not str:
            raise TypeError(f"{mirror}: {method}() returned the key {key!r}; keys are str")


def read_batches(
    mirror: str, keys_after: Callable[[str | None, int], list[str]], size: int, after: str | None = None
) -> Generator[list[str], None, None]:
    """Yield the keys of all rows after ``after``, in batches. Raises TypeError for a key that is no text, and
    ValueError where the keys do not advance.
    """
    while keys := keys_after(after, size):
        check_keys(mirror, "keys_after", keys)
        # SQLite sorts a BLOB after every text, so the text of its key finds the same rows again and again.
        if keys[-1] == after:
            raise ValueError(f"{mirror}: keys_after({after!r}) returned this key again; SQL may have another type")
        after = keys[-1]
        yield keys


def check_entries(mirror: str, pk: str, entries: Iterable[Contribution]) -> None:
    """Raise TypeError for the first entry with a part of the wrong type, or with NaN as its score."""
    for entry in entries:
        kind = type(entry)
        if (
            kind not in _KINDS
            or (kind, *map(type, entry)) not in _USUAL
            or (kind is Members and not _TEXT.issuperset(map(type, entry[0])))
            or entry[-1] != entry[-1]  # NaN, without a call: this line runs for each entry of a drain
        ):
            _check_closely(mirror, pk, entry)


def check_ids(mirror: str, pk: str, ids: Sequence[Any]) -> None:
    """Raise TypeError unless a window's ids are integers."""
    if _ID.issuperset(map(type, ids)):  # the usual case, in one step
        return
    for one in ids:
        if type(one) is not int:
            raise TypeError(f"{mirror}: newest() returned {one!r} for {pk!r}; ids are int")


def check_fields(record: Mapping[str, Any]) -> None:
    """Raise TypeError for a hash field that is neither text nor a number: None, bytes, a list."""
    if _FIELD.issuperset(map(type, record.values())):  # the usual case, in one step
        return
    for field, value in record.items():
        if not isinstance(value, (str, int, float)):
            raise TypeError(f"the field {field!r} is {value!r}, and has to be text")


def explain_record(mirror: str, pk: str, record: Any, error: Exception) -> TypeError:
    """Return an error for a record that cannot be encoded, with the wrong place in its JSON, if any."""
    message = f"{mirror}: the record of {pk!r} cannot be written: {error}"
    place, value = _find_wrong(record, "")
    if place:
        message += f" at {place}: {value!r}"
    return TypeError(message)


def _check_closely(mirror: str, pk: str, entry: Any) -> None:
    """Check an entry with unusual types. Subclasses of the usual ones are valid."""
    if not isinstance(entry, ENTRIES):
        names = ", ".join(kind.__name__ for kind in ENTRIES)
        raise TypeError(f"{mirror}: an entry of {pk!r} is {entry!r}, which is none of {names}")
    for name, part in entry._asdict().items():
        rule = _RULES.get(name, _IS_TEXT)
        if not rule.is_valid(part):
            raise TypeError(
                f"{mirror}: an entry of {pk!r} has the {name} {part!r}, which is not {rule.wanted}: {entry!r}"
            )


class _Rule(NamedTuple):
    """The valid values of one part of an entry, and their description."""

    is_valid: Callable[[Any], bool]
    wanted: str


def _is_text(part: Any) -> bool:
    return isinstance(part, str)


def _are_texts(part: Any) -> bool:
    return all(map(_is_text, part))


def _is_integer(part: Any) -> bool:
    return isinstance(part, int) and not isinstance(part, bool)


def _is_number(part: Any) -> bool:
    if isinstance(part, float):
        return not isnan(part)
    return _is_integer(part)


_IS_TEXT: Final = _Rule(_is_text, "str")
_RULES: Final = {
    "keys": _Rule(_are_texts, "a sequence of str"),
    "score": _Rule(_is_number, "a number"),
    "offset": _Rule(_is_integer, "an integer"),
}


def _find_wrong(value: Any, place: str) -> tuple[str, Any]:
    """Return the innermost part of a value that cannot be JSON, with its place."""
    parts: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    for name, part in parts:
        if isinstance(value, dict) and not isinstance(name, str):
            return place, name
        if not _is_json(part):
            return _find_wrong(part, f"{place}[{name!r}]")
    return place, value


def _is_json(value: Any) -> bool:
    try:
        json_texts.encode(value)
    except TypeError:
        return False
    return True
