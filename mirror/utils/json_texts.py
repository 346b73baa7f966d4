"""Records as JSON: of orjson, or of Python's slower module for values that orjson refuses.

These are integers of more than 64 bits, and texts with half of a surrogate pair, which SQLite's JSON may contain.
orjson would read such an integer as a float, so a blank, which JSON allows, precedes the text.
"""

import json
from functools import partial
from typing import Any, Final

import orjson

MARK: Final = b" "
_write: Final = partial(orjson.dumps, option=orjson.OPT_SORT_KEYS)


def encode(record: Any) -> bytes:
    """Return a record as JSON with sorted keys, so that equal records are equal bytes. Raises TypeError if it is none.

    This runs for every row of a rebuild.
    """
    try:
        return _write(record)
    except TypeError:
        encoded = _encode_unusual(record)
        if encoded is None:
            raise
        return encoded


def decode(encoded: bytes) -> Any:
    """Return the record in JSON."""
    if encoded.startswith(MARK):
        return json.loads(encoded)
    return orjson.loads(encoded)


def _encode_unusual(record: Any) -> bytes | None:
    """Return what Python's module writes and reads without a loss, or None."""
    try:
        encoded = json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)
        is_same = bool(json.loads(encoded) == record)
    except (TypeError, ValueError, RecursionError):
        return None
    return MARK + encoded.encode() if is_same else None
