"""Names of the mirror's own keys, without the prefix that connections add (``mirror.redis.keys.prefix``)."""

from mirror.redis.keys import prefix
from mirror.redis.keys.slots import place_in_slot
from mirror.redis.keys.urls import has_cluster

__all__ = ["lease"]


def slot_of(key: str) -> str:
    """Return a hash tag that puts other keys into the slot of ``key``, which has no hash tag of its own."""
    return f"{{{prefix.current()}{key}}}"


def row_fence(slot: int | str, mirror: str, row: str) -> str:
    """String: token of the drain that may write a row's data in one slot of a cluster. Life: until its end; at most a
    minute. Owner: mirror.
    """
    return place_in_slot(slot, f"fence:{mirror}:{row}")


def staged(slot: int | str, mirror: str, row: str) -> str:
    """String: JSON list of the entries that unfinished drains of a row may have written on a cluster. Life: until a
    drain of the row ends. Owner: mirror.
    """
    return place_in_slot(slot, f"staged:{mirror}:{row}")


def claims(slot: int | str, window: str) -> str:
    """Hash: tokens of the pushes that may deliver rows to a window of a cluster. Life: a minute. Owner: mirror."""
    return place_in_slot(slot, f"claims:{window}")


def sentinel(owner: str, number: int | str) -> str:
    """String: empty; one of 64 on a cluster. Each master has some, so a missing one shows that a master was emptied.
    Life: always. Owner: mirror.
    """
    return f"mirror:{{sentinel:{number}}}:{owner}"


def with_prefix(name: str) -> str:
    """Return the name on a server: for messages, and for the cache server, where no prefix is added."""
    return prefix.current() + name


def marker(mirror: str) -> str:
    """String: the warm marker of a mirror; all are in one slot. Life: until the mirror goes cold. Owner: mirror."""
    return f"mirror:{{warm}}:{mirror}"


def heartbeat() -> str:
    """String: incarnation, and the time (milliseconds since 1970) when Redis had all changes of the strict mirrors.
    Life: seconds. Owner: mirror.
    """
    return "mirror:{warm}:heartbeat"


def quarantined() -> str:
    """String: JSON list of the quarantined changes (mirror, source, key), or ``*`` if they are too many to list.
    Life: while a change is quarantined. Owner: mirror.
    """
    return "mirror:{warm}:quarantined"


def building(mirror: str) -> str:
    """String: token of the rebuild in progress; on a cluster in the slot of the markers. Life: until its end. Owner:
    mirror.
    """
    return f"mirror:{{warm}}:building:{mirror}" if has_cluster() else f"mirror:building:{mirror}"


def clock() -> str:
    """String: SQL's clock as the relay last read it (seconds since 1970). Life: always. Owner: mirror."""
    return "mirror:clock"


def bare_clock() -> str:
    """String: a copy of the clock that no transaction writes. A clock older than this copy shows that the server
    dropped transactions. Life: always. Owner: mirror.
    """
    return "mirror:clock:bare"


def evicted() -> str:
    """String: incarnation, and the number of keys that the servers have evicted, at the last rebuild because of this.
    Life: always. Owner: mirror.
    """
    return "mirror:evicted"


def history() -> str:
    """Sorted set: changes that SQL must have, by id: the highest one that Redis has, and the last applied one.
    Life: always. Owner: mirror.
    """
    return "mirror:history"


def verification() -> str:
    """String: JSON with the position and findings of the background verification. Life: always. Owner: mirror."""
    return "mirror:verification"


def lag() -> str:
    """List: the age of the oldest pending change in seconds, every ten seconds, newest first. Life: always; 90 values.
    Owner: mirror.
    """
    return "mirror:lag"


def lease(job: str) -> str:
    """String: the holder of a job. Life: as the job; longer by seconds (the expiry of the login log: an hour) if its
    process was killed. Owner: mirror.
    """
    return f"mirror:lease:{job}"


def requests() -> str:
    """List: requests to ``mirror run`` of a site without Celery, newest first (JSON: job, arguments, options).
    Life: until they are taken; at most a minute. Owner: mirror.
    """
    return "mirror:requests"


def guard(mirror: str, row: str) -> str:
    """String: watched by drains of a row without a record. Life: none (set and deleted); of a pushed row a minute.
    Owner: mirror.
    """
    return f"mirror:guard:{mirror}:{row}"


def fence(mirror: str) -> str:
    """String: changes to make all deliveries to windows start over. Life: always. Owner: mirror."""
    return f"mirror:fence:{mirror}"


def visits(beside: str) -> str:
    """Stream: visits that SQL does not have yet; in the slot of a key that pages write with them. Life: always; entries
    until SQL has them, about ``VISITS_LENGTH`` at most. Owner: mirror.visits.
    """
    return f"mirror:visits:{slot_of(beside)}"


def trimmed_visits(beside: str) -> str:
    """String: the number of entries that a full stream of visits lost, since they were counted. Life: seconds. Owner:
    mirror.visits.
    """
    return f"mirror:visits:{slot_of(beside)}:trimmed"


def visits_restored(beside: str) -> str:
    """String: the stamp under which Redis has all data of these visits that SQL has. Life: until a loss of Redis.
    Owner: mirror.visits.
    """
    return f"mirror:visits:{slot_of(beside)}:restored"


def visits_restoring(beside: str) -> str:
    """String: the stamp of a restore in progress, and its position. Life: until its end. Owner: mirror.visits."""
    return f"mirror:visits:{slot_of(beside)}:restoring"
