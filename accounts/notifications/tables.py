"""The base of the mirrors that derive notifications from facts, and write them as rows.

A notification is a function of the facts, and nothing else creates it. So a crash loses none, an unlike or a deleted
post removes it, and a block hides it. The relay computes it after the writer's request (``drain = "relay"``). Many
changes of one key are one drain, and a group counts at most ``MAX_COUNTED`` readers, so a post with many likes costs
no more than another.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, ClassVar, Final, NamedTuple

from django.conf import settings
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Min

from accounts.notifications.kinds import find_kind
from accounts.notifications.models import Notification, Preference, Way
from common import clock
from mirror import TableMirror, Watch
from mirror.conf import setting

MAX_COUNTED: Final = 1000  # readers of a group
MAX_FACTS: Final = MAX_COUNTED + 1  # facts of a group that are read
MAX_ACTORS: Final = 3  # readers of a group that are named
GROUP_PERIOD: Final = timedelta(days=7)  # facts that are older than the newest one by more belong to no group
COLUMNS: Final = ("user_id", "target", "count", "actors", "last_at", "way")


class Fact(NamedTuple):
    """A fact that a reader is notified of.

    key: of the mirror. user: the notified reader. actor: the reader who caused it, or None. target: what the
    notification is about if this fact is the newest one of its group. is_silenced: the reader has muted the actor, or
    one of them has blocked the other.
    """

    key: str
    user: int
    actor: int | None
    at: datetime
    target: int
    is_silenced: bool = False


class Group(NamedTuple):
    """A notification as the facts determine it, in the order of ``COLUMNS``."""

    user: int
    target: int
    size: int
    actors: str
    last_at: datetime
    way: str


class NotificationTable(TableMirror):
    """The notifications of one kind. ``tables`` is derived from it.

    A subclass lists the facts, and watches the tables that they come from.
    """

    kind: ClassVar[str]
    drain = "relay"

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        """Return the facts of these keys: all, or the ``MAX_FACTS`` newest of each.

        Facts of the reader's own, and of inactive readers are left out.
        """
        raise NotImplementedError

    def load(self, pks: Sequence[str]) -> Mapping[str, Group]:
        facts: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.find_facts(pks):
            facts[fact.key].append(fact)
        ways = self._find_ways({found[0].user for found in facts.values()})
        groups = {key: build_group(found, ways) for key, found in facts.items()}
        oldest = find_oldest_time()
        return {key: group for key, group in groups.items() if group.last_at >= oldest}

    def _find_ways(self, users: set[int]) -> dict[int, str]:
        """Return the way of each of these readers."""
        kind = find_kind(self.kind)
        ways = dict.fromkeys(users, str(kind.ways[0] if kind else Way.SITE))
        chosen = Preference.objects.using(setting("DATABASE")).filter(kind=self.kind, user_id__in=users)
        return ways | dict(chosen.values_list("user_id", "way"))

    def stored(self, pks: Sequence[str]) -> Mapping[str, Group]:
        rows = self._rows().filter(key__in=pks, last_at__gte=find_oldest_time())
        return {key: Group._make(columns) for key, *columns in rows.values_list("key", *COLUMNS)}

    def stored_after(self, after: str | None, limit: int) -> list[str]:
        rows = self._rows().filter(last_at__gte=find_oldest_time()).order_by("key")
        if after is not None:
            rows = rows.filter(key__gt=after)
        return list(rows.values_list("key", flat=True)[:limit])

    def replace(self, pks: Sequence[str], rows: Mapping[str, Group]) -> None:
        # In the order in which readers' requests lock them, so that neither waits for the other.
        locked = self._rows().filter(key__in=pks).order_by("pk").select_for_update()
        found = {key: (pk, Group._make(columns)) for pk, key, *columns in locked.values_list("pk", "key", *COLUMNS)}
        gone = [pk for key, (pk, _) in found.items() if key not in rows]
        if gone:
            Notification.objects.using(setting("DATABASE")).filter(pk__in=gone).delete()
        changed = {key: group for key, group in rows.items() if key not in found or found[key][1] != group}
        if changed:
            self._write(changed, is_new={key for key in changed if key not in found})

    def _write(self, groups: Mapping[str, Group], is_new: set[str]) -> None:
        began_at = find_installation_time() if is_new else None
        rows = []
        for key, group in groups.items():
            row = Notification(kind=self.kind, key=key, **dict(zip(COLUMNS, group, strict=True)))
            # What happened before the site had notifications counts as read, and is not sent by email. So does what was
            # not shown when it happened, if a mute ends.
            if group.way == Way.OFF or (began_at is not None and group.last_at < began_at):
                row.read_at = row.mailed_at = group.last_at
            rows.append(row)
        Notification.objects.using(setting("DATABASE")).bulk_create(
            rows, update_conflicts=True, unique_fields=["kind", "key"], update_fields=COLUMNS
        )

    def _rows(self) -> Any:
        return Notification.objects.using(setting("DATABASE")).filter(kind=self.kind)


def watch_preferences(kind: str) -> Watch:
    """Return the watch by which notifications of a kind follow the choices of their readers."""

    def find_keys(values: Sequence[str], after: str | None, limit: int) -> list[str]:
        rows = Notification.objects.using(setting("DATABASE")).filter(kind=kind, user_id__in=list(map(int, values)))
        if after is not None:
            rows = rows.filter(key__gt=after)
        return list(rows.order_by("key").values_list("key", flat=True)[:limit])

    return Watch(Preference, "user_id", via=find_keys)


def build_group(facts: Sequence[Fact], ways: Mapping[int, str]) -> Group:
    """Return the notification of these facts, which have one key. ways: how each reader is notified.

    If all facts are silenced, the row stays, and with it what the reader has read: the end of a mute makes nothing new.
    """
    heard = [fact for fact in facts if not fact.is_silenced]
    way = ways[facts[0].user] if heard else Way.OFF.value
    facts = heard or facts
    newest = max(facts, key=lambda fact: (fact.at, fact.target))
    recent = [fact for fact in facts if fact.at >= newest.at - GROUP_PERIOD]
    # A reader counts once, at the time of their newest fact.
    times: dict[int, datetime] = {}
    for fact in recent:
        if fact.actor is not None:
            times[fact.actor] = max(fact.at, times.get(fact.actor, fact.at))
    actors = sorted(times, key=lambda actor: (times[actor], actor), reverse=True)
    named = " ".join(map(str, actors[:MAX_ACTORS]))
    # Only the MAX_FACTS newest facts are read. Above that the number stays the same, so that not every further reader
    # changes the row.
    count = min(len(actors), MAX_FACTS)
    return Group(newest.user, newest.target, count, named, newest.at, way)


def find_oldest_time() -> datetime:
    """Return the time before which notifications are old, and are removed."""
    return clock.now() - timedelta(days=settings.NOTIFICATION_DAYS)


@cache
def find_installation_time() -> datetime | None:
    """Return the time when the site got notifications: that of the first migration of this application."""
    applied = MigrationRecorder.Migration.objects.using(setting("DATABASE")).filter(app="notifications")
    return applied.aggregate(first=Min("applied"))["first"]


def parse_time(value: datetime) -> datetime:
    """Return a time in the result of a statement in plain SQL. Those of SQLite are in UTC, but do not say so."""
    return value if value.tzinfo else value.replace(tzinfo=UTC)
