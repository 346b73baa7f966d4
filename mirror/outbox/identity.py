"""The identity of the mirrored database, by which Redis knows whose data it holds, and the prefix of its keys."""

from functools import cache
from typing import NamedTuple

from mirror.conf import setting
from mirror.models import Identity
from mirror.redis.keys import prefix


class _Known(NamedTuple):
    """What a process has read of the identity. prefix: None before it was noted."""

    uuid: str
    prefix: str | None


def database_identity(alias: str | None = None) -> str:
    """Return the identity of the database, which is created once and stored there. Each process reads it once.

    alias: another database; a replica has the same identity. Raises DatabaseError if it has none and is read-only.
    """
    return _read_identity(alias or setting("DATABASE")).uuid


def find_other_prefix() -> str | None:
    """Return the prefix with which the relay writes keys, if this process has another one, otherwise None.

    Without a query, unless it has another one. A sweep of this process would make the relay take its prefix.
    """
    own, alias = prefix.current(), setting("DATABASE")
    if _read_identity(alias).prefix in (None, own):
        return None
    # A sweep may have changed it since.
    forget_identity()
    present = _read_identity(alias).prefix
    return None if present == own else present


def forget_identity() -> None:
    """Read the identity again before the next use."""
    _read_identity.cache_clear()


def load_identity() -> Identity:
    """Return the row with the identity of the mirrored database.

    A flush has deleted it, with the rows that Redis has. Then create another one, so that no marker is valid.
    """
    row, is_new = Identity.objects.using(setting("DATABASE")).get_or_create(pk=1)
    if is_new:
        forget_identity()
    return row


@cache
def _read_identity(alias: str) -> _Known:
    row, _ = Identity.objects.using(alias).get_or_create(pk=1)
    return _Known(row.uuid.hex, row.prefix)
