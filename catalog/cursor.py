"""Where a page ends, as an opaque text: signed, and good for one order of the books only."""

from typing import Any

import orjson
from django.core.signing import BadSignature, Signer

from catalog.sql import Position

# A new layout takes a new salt: cursors of the old one are then nobody's.
SALT = "catalog.cursor.1"


class _Json:
    """Compact, and of bytes: a Chinese title takes half of what escapes would."""

    def dumps(self, value: Any) -> bytes:
        return orjson.dumps(value)

    def loads(self, text: bytes) -> Any:
        return orjson.loads(text)


def write(order: str, position: Position) -> str:
    """The text that names ``position`` in ``order``; safe in a URL."""
    return Signer(salt=SALT).sign_object([order, *position], serializer=_Json, compress=True)


def read(text: str, order: str) -> Position | None:
    """The position that ``text`` names; None (the first page) if it is not one of ours, or of another order."""
    try:
        of, key, pk = Signer(salt=SALT).unsign_object(text, serializer=_Json)
    except (BadSignature, ValueError, TypeError):  # tampered with; or signed, and yet not what this code writes
        return None
    return (key, pk) if of == order else None
