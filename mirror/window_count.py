"""How many windows there are in Redis, at a cost that does not grow with it."""

from typing import Any, Final, NamedTuple

from mirror import registry, scan
from mirror.declare import WindowMirror
from mirror.redis import RedisError, breaker, client, is_away
from mirror.session import Session

LOOKED_AT: Final = 20_000  # keys, before the rest is estimated


class Count(NamedTuple):
    """How many there are; estimated: by what is among the keys that were looked at."""

    rows: int
    estimated: bool


def windows(redis: Any = None) -> dict[str, Count]:
    """How many windows Redis has of each mirror of windows; without Redis, nothing is said of any.

    The first keys that SCAN gives are any: the order is that of their hashes.
    """
    owned = [scan.Owned(mirror) for mirror in registry.all_mirrors() if isinstance(mirror, WindowMirror)]
    if not owned or (redis is None and breaker.open()):
        return {}
    try:
        with Session(redis or client()) as session:
            seen, looked_at, is_all = _some_keys(session)
            share = 1.0 if is_all else session.ask([("DBSIZE",)])[0] / looked_at
    except RedisError as error:
        if is_away(error):
            breaker.failed()
        return {}
    counts = {one.mirror.name: sum(one.family_of(key) is not None for key in seen) for one in owned}
    return {name: Count(round(count * share), not is_all) for name, count in counts.items()}


def _some_keys(session: Session) -> tuple[set[str], int, bool]:
    """Some keys, each once; at how many Redis has looked, keys with another prefix included; whether these are all."""
    seen: set[str] = set()
    for step, keys in enumerate(scan.keys(session), 1):
        seen.update(keys)
        if (looked_at := max(len(seen), step * scan.STEP)) >= LOOKED_AT:
            return seen, looked_at, False
    return seen, len(seen), True
