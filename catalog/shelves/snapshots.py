"""Signed snapshots, which undo changes of shelves and lists.

The page keeps them, so that the site stores nothing that a reader has removed.
"""

from typing import Any, Final

import orjson
from django.core import signing
from django.utils.translation import gettext_lazy as _

from common.refusals import Refused

SALT: Final = "catalog.shelves.snapshots"
MAX_AGE_SECONDS: Final = 3600


class NotUndoable(Refused):
    """The snapshot is too old, or none of this reader and kind."""

    message = _("This can no longer be undone.")


class _DateSerializer:
    """JSON with dates as texts, which models accept."""

    def dumps(self, value: Any) -> bytes:
        return orjson.dumps(value)

    def loads(self, data: bytes) -> Any:
        return orjson.loads(data)


def sign_snapshot(kind: str, user_id: int, content: Any) -> str:
    """Return a snapshot as text. kind: what ``read_snapshot`` must ask for. content: JSON, and dates."""
    return signing.dumps([kind, user_id, content], salt=SALT, serializer=_DateSerializer, compress=True)


def read_snapshot(kind: str, user_id: int, signed: str) -> Any:
    """Return the content of a snapshot of this kind and reader. Raises NotUndoable."""
    try:
        found = signing.loads(signed, salt=SALT, serializer=_DateSerializer, max_age=MAX_AGE_SECONDS)
    except signing.BadSignature as error:
        raise NotUndoable from error
    if found[:2] != [kind, user_id]:
        raise NotUndoable
    return found[2]
