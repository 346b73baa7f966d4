"""Having mirrors whole: the site's, or those of the mirror's own tests."""

import uuid
from collections.abc import Iterable
from typing import Any

from mirror import heartbeat, marker, naming, outbox, registry, replay, scan
from mirror import rebuild as mirror_rebuild
from mirror.declare import Mirror
from mirror.models import Change, State
from mirror.redis import relay_client
from mirror.session import Session

OWN = [mirror.name for mirror in registry.all_mirrors() if type(mirror).__module__.startswith("tests.")]
SITE = [mirror.name for mirror in registry.all_mirrors() if mirror.name not in OWN]
ALL = [*SITE, *OWN]


def rebuild(names: Iterable[str] = SITE) -> None:
    """Have these mirrors whole, by default the site's: all that there is anything of is rebuilt.

    A rebuild takes a few milliseconds of nothing as well, and there is nothing of most mirrors in most tests: they are
    called whole, and all else is as their rebuild leaves it.
    """
    names, redis = list(names), relay_client()
    replay.check(redis)
    nothing = _nothing_of(names, redis)
    _call_whole(nothing, redis)
    if left := [name for name in names if registry.get(name) not in nothing]:
        mirror_rebuild.rebuild(left)
    heartbeat.beat(redis)


def _nothing_of(names: list[str], redis: Any) -> list[Mirror]:
    """Those without rows, changes, or keys, that were never rebuilt and come after no others."""
    known = {*Change.objects.filter(applied_at=None).values_list("mirror", flat=True).distinct()}
    known |= {*State.objects.values_list("mirror", flat=True)}
    with Session(redis) as session:
        keys = [key for some in scan.keys(session) for key in some]
    mirrors = [mirror for mirror in registry.all_mirrors(names) if mirror.name not in known]
    alone = [mirror for mirror in mirrors if not registry.ahead(mirror.name) and not mirror.keys_after(None, 1)]
    return [mirror for mirror in alone if not any(map(scan.Owned(mirror).has, keys))]


def _call_whole(mirrors: list[Mirror], redis: Any) -> None:
    State.objects.using(outbox.using()).bulk_create(State(mirror=mirror.name) for mirror in mirrors)
    with Session(redis) as session:
        for mirror in mirrors:
            generation = uuid.uuid4().hex[:12]
            said = marker.value(mirror.name, session.incarnation, generation)
            session.execute([("SET", naming.marker(mirror.name), said), *marker._reset(mirror, generation)])
