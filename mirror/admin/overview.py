"""The state of all mirrors in one tile: a level, its reasons with links, and the lag of the last minutes."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from mirror import registry
from mirror.comparison import scan
from mirror.outbox import lag
from mirror.redis import naming
from mirror.redis.clients import list_servers, try_redis
from mirror.redis.session import Session
from mirror.redis.types import RedisClient
from mirror.status import Status, accepts_writes, statuses

LATE_SECONDS: Final = 10.0  # changes normally wait for milliseconds
SAMPLE: Final = 500  # keys
HASH_TAG: Final = re.compile(r"^\{\w+\}(?=\w)")  # puts keys of one kind in one slot of a cluster
SHOWN_FAMILIES: Final = 8


Level = Literal["green", "amber", "red"]


class Reason(NamedTuple):
    """A reason of the level, and the page that shows more."""

    text: str
    address: str


@dataclass(frozen=True)
class Overview:
    """The state of all mirrors. sparkline: the lag of the last minutes; None without one. verified_at: of the last."""

    headline: str
    level: Level
    reasons: list[Reason]
    pending: int
    quarantined: int
    verified_at: str | None
    sparkline: SafeString | None


class Family(NamedTuple):
    """The estimated memory of keys of one kind, in bytes."""

    name: str
    size: int


def read_overview() -> Overview:
    """Return the state of all mirrors. Works while Redis is away."""
    found = statuses(count_rows=False)
    away = _find_sql_answers(found)
    stuck = _find_obstacles(found)
    late = _find_delays(found)
    headline, level = _summarize(bool(away), bool(stuck), bool(late))
    verified = [status.verified_at for status in found if status.verified_at]
    return Overview(
        headline=headline,
        level=level,
        # The worst come first.
        reasons=away + stuck + late,
        pending=sum(status.pending for status in found),
        quarantined=sum(status.quarantined for status in found),
        verified_at=max(verified, default=None),
        sparkline=try_redis(lambda redis: _draw_lag(lag.read(redis)), lambda: None, warning=""),
    )


def _summarize(sql_answers: bool, is_stuck: bool, is_late: bool) -> tuple[str, Level]:
    """Return the headline and the level for the reasons that were found."""
    if sql_answers and is_stuck:
        return _("Red: SQL answers instead of Redis, and changes do not arrive in Redis"), "red"
    if sql_answers:
        return _("Red: SQL answers instead of Redis"), "red"
    if is_stuck:
        return _("Red: changes do not arrive in Redis, so pages may show old data"), "red"
    if is_late:
        return _("Amber: some data is late or differs"), "amber"
    return _("All mirrors are current"), "green"


def _find_sql_answers(found: list[Status]) -> list[Reason]:
    """Return the reasons for which SQL answers reads: pages are slower, and correct."""
    if any(status.warm is None for status in found):
        return [Reason(_("Redis does not answer: SQL answers all reads"), link_to_states())]
    reasons: list[Reason] = []
    for status in found:
        if not status.warm:
            text = _("%(mirror)s is cold: SQL answers") % {"mirror": registry.describe(status.mirror)}
            reasons.append(Reason(text, link_to_states()))
    return reasons


def _find_obstacles(found: list[Status]) -> list[Reason]:
    """Return the reasons for which changes wait in SQL while Redis answers: pages may show old data."""
    # SQL answers all reads, which is reported already.
    if any(status.warm is None for status in found):
        return []
    reasons: list[Reason] = []
    if not try_redis(accepts_writes, lambda: False, warning=""):
        reasons.append(Reason(_("Redis refuses writes: its memory or disk is full"), link_to_states()))
    if not try_redis(_has_heartbeat, lambda: False, warning=""):
        reasons.append(Reason(_("No relay is running"), link_to_states()))
    return reasons


def _has_heartbeat(redis: RedisClient) -> bool:
    return bool(redis.exists(naming.heartbeat()))


def _find_delays(found: list[Status]) -> list[Reason]:
    reasons = []
    for status in found:
        words: dict[str, Any] = {"mirror": registry.describe(status.mirror), "count": status.quarantined}
        if status.quarantined:
            text = _("%(mirror)s: %(count)d quarantined")
            reasons.append(Reason(text % words, link_to_changes(status.mirror, "quarantined")))
        if status.oldest_pending_seconds > LATE_SECONDS:
            text = _("%(mirror)s: changes wait for %(seconds)d s")
            words["seconds"] = status.oldest_pending_seconds
            reasons.append(Reason(text % words, link_to_changes(status.mirror, "pending")))
        if status.differences:
            text = _("%(mirror)s: the last verification found %(differences)d differences")
            reasons.append(Reason(text % (words | {"differences": status.differences}), link_to_states()))
    return reasons


def link_to_states() -> str:
    """Return the address of the list of mirrors."""
    return reverse("admin:mirror_state_changelist")


def link_to_changes(mirror: str, status: str) -> str:
    """Return the address of the list of a mirror's changes in one state."""
    return f"{reverse('admin:mirror_change_changelist')}?mirror={mirror}&status={status}"


def _draw_lag(seconds: list[float]) -> SafeString | None:
    """Draw the lag as a line, from the oldest to the newest value."""
    if len(seconds) < 2:
        return None
    # The lags of an idle site are a line at the bottom.
    top = max(1.0, max(seconds))
    points = " ".join(f"{x},{top - value:.3f}" for x, value in enumerate(seconds))
    text = _("Lag of the last minutes: at most %(most).1f s, now %(now).1f s")
    title = text % {"most": max(seconds), "now": seconds[-1]}
    return format_html(
        '<svg class="sparkline" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-label="{}">'
        '<title>{}</title><polyline points="{}"/></svg>',
        len(seconds) - 1,
        f"{top:.3f}",
        title,
        title,
        points,
    )


def read_memory() -> list[Family]:
    """Return the memory of Redis by mirror and other kind of key, the greatest first, estimated from a few keys."""
    return try_redis(_estimate_memory, list, warning="")


def _estimate_memory(redis: RedisClient) -> list[Family]:
    """Return the families of a sample of keys, with the memory of all keys in the proportions of the sample."""
    with Session(redis) as session:
        sizes = _sample_sizes(session, len(list_servers(redis)))
        (total,) = session.ask([("DBSIZE",)])
    owned = [scan.Owned(mirror) for mirror in registry.all_mirrors()]
    found: dict[str, int] = defaultdict(int)
    for name, size in sizes:
        found[_name_family(name, owned)] += size
    share = int(total) / max(len(sizes), 1)
    families = [Family(name, int(size * share)) for name, size in found.items()]
    families.sort(key=lambda family: -family.size)
    return families[:SHOWN_FAMILIES]


def _sample_sizes(session: Session, servers: int) -> list[tuple[str, int]]:
    """Return some keys of each server, with their sizes in bytes."""
    names: list[str] = []
    # The cursor of a cluster's scan begins with the number of a master.
    for server in range(servers):
        _cursor, found = scan.next_keys(session, str(server), SAMPLE // servers)
        names += found
    if not names:
        return []
    # One command for each key, so all keys would take too long.
    sizes = session.ask([("MEMORY", "USAGE", name) for name in names])
    # A key may have expired meanwhile.
    return [(name, int(size or 0)) for name, size in zip(names, sizes, strict=True)]


def _name_family(name: str, owned: Sequence[scan.Owned]) -> str:
    """Return the name of a mirror that owns this key, or else the beginning of the key."""
    for of_mirror in owned:
        if of_mirror.has(name):
            return registry.describe(of_mirror.mirror.name)
    return HASH_TAG.sub("", name).partition(":")[0].partition("_")[0]
