"""How many windows there are in Redis, at a cost that does not grow with it."""

from typing import Any, Final, NamedTuple

from mirror import registry, scan
from mirror.declare import Mirror, WindowMirror
from mirror.redis import RedisError, breaker, client, is_away
from mirror.session import Session

LOOKED_AT: Final = 20_000  # keys, before the rest is estimated; owners, if there are too few windows among the keys
ENOUGH: Final = 100  # windows among the keys, for an estimate that is about right
STEP: Final = 1000  # owners in a round trip


class Count(NamedTuple):
    """How many there are; estimated: by what is among the keys that were looked at."""

    rows: int
    estimated: bool


def windows(redis: Any = None) -> dict[str, Count]:
    """How many windows Redis has of each mirror of windows; without Redis, nothing is said of any.

    The first keys that SCAN gives are any: the order is that of their hashes. Rare windows are counted by their owners.
    """
    owned = [scan.Owned(mirror) for mirror in registry.all_mirrors() if isinstance(mirror, WindowMirror)]
    if not owned or (redis is None and breaker.open()):
        return {}
    try:
        with Session(redis or client()) as session:
            seen, looked_at, is_all = _some_keys(session)
            share = 1.0 if is_all else session.ask([("DBSIZE",)])[0] / looked_at
            counts = {one.mirror: sum(one.family_of(key) is not None for key in seen) for one in owned}
            rare = [] if is_all else [mirror for mirror, count in counts.items() if count < ENOUGH]
            exact = {mirror: _of_owners(mirror, session) for mirror in rare}
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        return {}
    return {
        mirror.name: exact.get(mirror) or Count(round(count * share), not is_all) for mirror, count in counts.items()
    }


def _of_owners(mirror: Mirror, session: Session) -> Count | None:
    """Ask for the window of each owner that SQL knows of; None: they are too many."""
    owners = mirror.keys_after(None, LOOKED_AT + 1)
    if len(owners) > LOOKED_AT:
        return None
    found = 0
    for start in range(0, len(owners), STEP):
        found += sum(session.ask([("EXISTS", mirror.key(owner)) for owner in owners[start : start + STEP]]))
    return Count(found, False)


def _some_keys(session: Session) -> tuple[set[str], int, bool]:
    """Some keys, each once; at how many Redis has looked, keys with another prefix included; whether these are all."""
    seen: set[str] = set()
    for step, keys in enumerate(scan.keys(session), 1):
        seen.update(keys)
        if (looked_at := max(len(seen), step * scan.STEP)) >= LOOKED_AT:
            return seen, looked_at, False
    return seen, len(seen), True
