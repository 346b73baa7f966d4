"""Key names: the mirror's own keys, without the prefix that connections put before each (``mirror.prefix``)."""

from mirror import prefix


def slot_of(key: str) -> str:
    """A hash tag: whatever has it in its name is in the slot of ``key``, whose own name has none."""
    return f"{{{prefix.current()}{key}}}"


def with_prefix(name: str) -> str:
    """The name as it is on a server: for people, and for the cache server, whose connections add no prefix."""
    return prefix.current() + name


def key(name: str) -> str:
    """The name itself."""
    return name


def marker(mirror: str) -> str:
    """String: the warm marker of a mirror; all are in one slot. Life: until the mirror goes cold. Owner: mirror."""
    return f"mirror:{{warm}}:{mirror}"


def heartbeat() -> str:
    """String: incarnation, and the time (milliseconds since 1970) when Redis had all changes of the strict mirrors.
    Life: seconds. Owner: mirror.
    """
    return "mirror:{warm}:heartbeat"


def quarantined() -> str:
    """String: JSON list of the changes that are quarantined (mirror, source, key), or ``*``: too many to list.
    Life: while there are any. Owner: mirror.
    """
    return "mirror:{warm}:quarantined"


def building(mirror: str) -> str:
    """String: token of the rebuild under way. Life: until it is done. Owner: mirror."""
    return f"mirror:building:{mirror}"


def clock() -> str:
    """String: SQL's clock as the relay last saw it (seconds since 1970). Life: always. Owner: mirror."""
    return "mirror:clock"


def lease(job: str) -> str:
    """String: who is at a job now, so that others leave it. Life: as the job; longer by seconds (the expiry of the
    login log: an hour) if its process was killed. Owner: mirror.
    """
    return f"mirror:lease:{job}"


def guard(mirror: str, row: str) -> str:
    """String: what drains of a row without a record watch. Life: none (set and deleted); of a pushed row a minute.
    Owner: mirror.
    """
    return f"mirror:guard:{mirror}:{row}"


def fence(mirror: str) -> str:
    """String: by whom deliveries of rows to windows were stopped last, to start over. Life: always. Owner: mirror."""
    return f"mirror:fence:{mirror}"


def marks(backup: str) -> str:
    """Sorted set: items that SQL does not have yet, by version (microseconds since 1970; below zero: set aside).
    Life: until they are flushed. Owner: mirror.backup.
    """
    return f"mirror:marks:{backup}"


def aside(marks: str) -> str:
    """Hash: why marked items cannot be written to SQL, by item; in the slot of the marks.
    Life: until they are. Owner: mirror.backup.
    """
    return f"{marks}:aside" if "{" in marks else f"{slot_of(marks)}:aside"


def restored(backup: str) -> str:
    """String: the marker of a backup, as a mirror's: Redis is this one and has nothing older than SQL.
    Life: until Redis is another. Owner: mirror.backup.
    """
    return f"mirror:restored:{backup}"


def restoring(backup: str) -> str:
    """String: what the marker of a backup is going to say when everything is restored.
    Life: until it is. Owner: mirror.backup.
    """
    return f"mirror:restoring:{backup}"


def flushed(backup: str) -> str:
    """String: nothing; while it is there the backup is not due to be flushed. Life: seconds. Owner: mirror.backup."""
    return f"mirror:flushed:{backup}"
