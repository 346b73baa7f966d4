"""Errors for values of the wrong type in a declaration's results, with mirror, row and place.

Redis would store many of them as text, and every later comparison with SQL would show a difference.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import orjson

from mirror.declare.entries import Bit, Contribution, Field, Member, Members, OwnField, Scored, Value

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
_FIELD: Final = frozenset([str, int, float, bool])
_TEXT: Final = frozenset([str])
_ID: Final = frozenset([int])


def list_entries(mirror: str, pk: str, made: Iterable[Contribution]) -> list[Contribution]:
    """Return the entries of a row. Raise TypeError for one of the wrong type, or with NaN as its score."""
    found: object = made  # a declaration without types may return anything
    if not isinstance(found, Iterable):
        raise TypeError(f"{mirror}: the entries of {pk!r} are {made!r}, and have to be a list")
    entries = list(made)
    check_entries(mirror, pk, entries)
    return entries


def check_keys(mirror: str, method: str, keys: Sequence[Any]) -> None:
    """Raise TypeError unless all keys that a method returned are text."""
    if not _TEXT.issuperset(map(type, keys)):
        wrong = next(key for key in keys if type(key) is not str)
        raise TypeError(f"{mirror}: {method}() returned the key {wrong!r}; keys are str")


def check_entries(mirror: str, pk: str, entries: Iterable[Contribution]) -> None:
    """Raise TypeError for the first entry with a part of the wrong type, or with NaN as its score."""
    for entry in entries:
        kind = type(entry)
        if (
            (kind, *map(type, entry)) not in _USUAL
            or (kind is Members and not _TEXT.issuperset(map(type, entry[0])))
            or entry[-1] != entry[-1]  # NaN
        ):
            _check_closely(mirror, pk, entry)


def check_ids(mirror: str, pk: str, ids: Sequence[Any]) -> None:
    """Raise TypeError unless a window's ids are integers."""
    if not _ID.issuperset(map(type, ids)):
        wrong = next(one for one in ids if type(one) is not int)
        raise TypeError(f"{mirror}: newest() returned {wrong!r} for {pk!r}; ids are int")


def check_fields(record: Mapping[str, Any]) -> None:
    """Raise TypeError for a hash field that is neither text nor a number: None, bytes, a list."""
    if not _FIELD.issuperset(map(type, record.values())):
        for field, value in record.items():
            if not isinstance(value, (str, int, float)):
                raise TypeError(f"the field {field!r} is {value!r}, and has to be text")


def explain_record(mirror: str, pk: str, record: Any, error: Exception) -> TypeError:
    """Return an error for a record that cannot be encoded, with the wrong place in its JSON, if any."""
    place, value = _find_wrong(record, "")
    where = f" at {place}: {value!r}" if place else ""
    return TypeError(f"{mirror}: the record of {pk!r} cannot be written: {error}{where}")


def _check_closely(mirror: str, pk: str, entry: Any) -> None:
    """Check an entry with unusual types. Subclasses of the usual ones are valid."""
    if not isinstance(entry, ENTRIES):
        names = ", ".join(kind.__name__ for kind in ENTRIES)
        raise TypeError(f"{mirror}: an entry of {pk!r} is {entry!r}, which is none of {names}")
    for name, part in entry._asdict().items():
        if name == "keys":
            is_right, wanted = all(isinstance(key, str) for key in part), "a sequence of str"
        elif name == "score":
            is_number = isinstance(part, (int, float)) and not isinstance(part, bool)
            is_right, wanted = is_number and part == part, "a number"
        elif name == "offset":
            is_right, wanted = isinstance(part, int) and not isinstance(part, bool), "an integer"
        else:
            is_right, wanted = isinstance(part, str), "str"
        if not is_right:
            raise TypeError(f"{mirror}: an entry of {pk!r} has the {name} {part!r}, which is not {wanted}: {entry!r}")


def _find_wrong(value: Any, place: str) -> tuple[str, Any]:
    """Return the innermost part of a value that cannot be JSON, with its place."""
    if isinstance(value, dict):
        for key, part in value.items():
            if not isinstance(key, str):
                return place, key
            if not _is_json(part):
                return _find_wrong(part, f"{place}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            if not _is_json(part):
                return _find_wrong(part, f"{place}[{number}]")
    return place, value


def _is_json(value: Any) -> bool:
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True
