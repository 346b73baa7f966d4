"""The identity of the mirrored database, by which Redis knows whose data it holds."""

from functools import cache

from mirror.conf import setting
from mirror.models import Identity


@cache
def database_identity(alias: str | None = None) -> str:
    """Return the identity of the database, which is created once and stored there. Each process reads it once.

    alias: another database; a replica has the same identity. Raises DatabaseError if it has none and is read-only.
    """
    identity, _ = Identity.objects.using(alias or setting("DATABASE")).get_or_create(pk=1)
    return identity.uuid.hex
