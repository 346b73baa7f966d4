"""The state of all mirrors in one tile: a level, its reasons with links, and the lag of the last minutes."""

import re
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


class Reason(NamedTuple):
    """A reason of the level, and the page that shows more."""

    text: str
    address: str


@dataclass(frozen=True)
class Overview:
    """The state of all mirrors. sparkline: the lag of the last minutes; None without one. verified_at: of the last."""

    headline: str
    level: Literal["green", "amber", "red"]
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
    away, stuck, late = _find_sql_answers(found), _find_obstacles(found), _find_delays(found)
    return Overview(
        _write_headline(bool(away), bool(stuck), bool(late)),
        "red" if away or stuck else "amber" if late else "green",
        [*away, *stuck, *late],
        sum(status.pending for status in found),
        sum(status.quarantined for status in found),
        max((status.verified_at for status in found if status.verified_at), default=None),
        try_redis(lambda redis: _draw_lag(lag.read(redis)), lambda: None, warning=""),
    )


def _write_headline(sql_answers: bool, is_stuck: bool, is_late: bool) -> str:
    if sql_answers and is_stuck:
        return _("Red: SQL answers instead of Redis, and changes do not arrive in Redis")
    if sql_answers:
        return _("Red: SQL answers instead of Redis")
    if is_stuck:
        return _("Red: changes do not arrive in Redis, so pages may show old data")
    return _("Amber: some data is late or differs") if is_late else _("All mirrors are current")


def _find_sql_answers(found: list[Status]) -> list[Reason]:
    """Return the reasons for which SQL answers reads: pages are slower, and correct."""
    if any(status.warm is None for status in found):
        return [Reason(_("Redis does not answer: SQL answers all reads"), link_to_states())]
    return [
        Reason(_("%(mirror)s is cold: SQL answers") % {"mirror": registry.describe(s.mirror)}, link_to_states())
        for s in found
        if not s.warm
    ]


def _find_obstacles(found: list[Status]) -> list[Reason]:
    """Return the reasons for which changes wait in SQL while Redis answers: pages may show old data."""
    if any(status.warm is None for status in found):  # SQL answers all reads
        return []
    accepts = try_redis(accepts_writes, lambda: False, warning="")
    refusal = [] if accepts else [Reason(_("Redis refuses writes: its memory or disk is full"), link_to_states())]
    beats = try_redis(lambda redis: bool(redis.exists(naming.heartbeat())), lambda: False, warning="")
    silent = [] if beats else [Reason(_("No relay is running"), link_to_states())]
    return refusal + silent


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
    top = max(1.0, *seconds)
    points = " ".join(f"{x},{top - value:.3f}" for x, value in enumerate(seconds))
    return format_html(
        '<svg class="sparkline" role="img" viewBox="0 0 {} {}" preserveAspectRatio="none" aria-label="{}">'
        '<title>{}</title><polyline points="{}"/></svg>',
        len(seconds) - 1,
        f"{top:.3f}",
        *[
            _("Lag of the last minutes: at most %(most).1f s, now %(now).1f s")
            % {"most": max(seconds), "now": seconds[-1]}
        ]
        * 2,
        points,
    )


def read_memory() -> list[Family]:
    """Return the memory of Redis by mirror and other kind of key, the greatest first, estimated from a few keys."""
    return try_redis(_sample, list, warning="")


def _sample(redis: RedisClient) -> list[Family]:
    with Session(redis) as session:
        servers = range(len(list_servers(redis)))  # the cursor of a cluster's scan begins with the number of a master
        names = [name for n in servers for name in scan.next_keys(session, str(n), SAMPLE // len(servers))[1]]
        sizes = session.ask([("MEMORY", "USAGE", name) for name in names]) if names else []
        (total,) = session.ask([("DBSIZE",)])
    owned, found = [scan.Owned(mirror) for mirror in registry.all_mirrors()], dict[str, int]()
    for name, size in zip(names, sizes, strict=True):
        owner = next((registry.describe(one.mirror.name) for one in owned if one.has(name)), "")
        kind = owner or HASH_TAG.sub("", name).partition(":")[0].partition("_")[0]
        found[kind] = found.get(kind, 0) + int(size or 0)
    share = int(total) / max(len(names), 1)
    families = sorted((Family(kind, int(size * share)) for kind, size in found.items()), key=lambda one: -one.size)
    return families[:SHOWN_FAMILIES]
