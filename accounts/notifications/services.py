"""Changes that readers make to their notifications. Each may be repeated without further effect."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import F, QuerySet

from accounts.models import User
from accounts.notifications.kinds import list_kinds
from accounts.notifications.models import Mailing, Notification, Preference, Way
from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict

MAILED: tuple[str, ...] = (Way.EMAIL, Way.WEEKLY)


def mark_read(user_id: int, pk: int) -> bool:
    """Mark one notification as read. Return False if it was, or if the reader has no such notification."""
    return bool(_mark_seen(Notification.objects.filter(user_id=user_id, pk=pk, is_unread=True)))


def mark_all_read(user_id: int, until: datetime) -> int:
    """Mark the notifications up to a time as read, which the reader's page showed. Return their number."""
    rows = Notification.objects.filter(user_id=user_id, is_unread=True, last_at__lte=until)
    total = 0
    while count := _mark_slice(rows):
        total += count
    return total


@repeat_after_conflict
def _mark_slice(rows: QuerySet[Notification]) -> int:
    with transaction.atomic():
        # In the order in which drains lock them, so that neither waits for the other.
        ids = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True)[:SLICE_SIZE])
        return _mark_seen(Notification.objects.filter(pk__in=ids))


def _mark_seen(rows: QuerySet[Notification]) -> int:
    # What the row says now, and not the present time: a fact that arrives late must be unread.
    return rows.update(read_at=F("last_at"))


def get_ways(user_id: int) -> dict[str, Way]:
    """Return the way in which a reader gets the notifications of each kind."""
    chosen = dict(Preference.objects.filter(user_id=user_id).values_list("kind", "way"))
    return {kind.name: Way(chosen.get(kind.name, kind.ways[0])) for kind in list_kinds()}


@repeat_after_conflict
def set_ways(user_id: int, ways: Mapping[str, Way]) -> None:
    """Set the ways of these kinds. Emails have only what happens from now on."""
    former = get_ways(user_id)
    changed = {kind: way for kind, way in ways.items() if former[kind] != way}
    with transaction.atomic():
        for kind, way in changed.items():
            Preference.objects.update_or_create(user_id=user_id, kind=kind, defaults={"way": way})
            rows = Notification.objects.filter(user_id=user_id, kind=kind)
            if way in MAILED:
                rows.update(mailed_at=F("last_at"))
            if Way.OFF in (way, former[kind]):
                _mark_seen(rows)
        for way in set(ways.values()) & set(MAILED):
            # The first weekly email comes after a week.
            first = {"sent_at": clock.now() if way == Way.WEEKLY else None}
            Mailing.objects.get_or_create(user_id=user_id, way=way, defaults=first)


@repeat_after_conflict
def unsubscribe(user_id: int, way: Way) -> int:
    """Send the reader no more emails of this way. Return the number of kinds that had it."""
    with transaction.atomic():
        # The link in an email outlives the account.
        if not User.objects.select_for_update(no_key=True).filter(pk=user_id).values_list("pk").first():
            return 0
        kinds = [kind for kind, chosen in get_ways(user_id).items() if chosen == way]
        set_ways(user_id, dict.fromkeys(kinds, Way.SITE))
    return len(kinds)


@repeat_after_conflict
def remove_slice(before: datetime) -> int:
    """Remove one slice of the notifications that are older than a time. Return their number; 0: no more are left."""
    with transaction.atomic():
        old = Notification.objects.filter(last_at__lt=before).order_by("last_at")
        ids = list(old.values_list("pk", flat=True)[:SLICE_SIZE])
        return Notification.objects.filter(pk__in=ids, last_at__lt=before).delete()[0]
