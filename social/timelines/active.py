"""Recently active readers. Redis keeps a home timeline for each of them."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from accounts.models import LastSeen, User
from social.mirrors.windows import ACTIVE_SECONDS

USERS_PER_SLICE: Final = 500


def find_active_readers(since: datetime | None = None) -> QuerySet[User]:
    """Return the active users with a login or a request since ``since``.

    The default is ``ACTIVE_SECONDS`` ago, the time for which an unread home timeline stays in Redis.
    """
    since = since or timezone.now() - timedelta(seconds=ACTIVE_SECONDS)
    seen = LastSeen.objects.filter(session__user=OuterRef("pk"), seen_at__gte=since)
    return User.objects.filter(Q(login_stats__last_login_time__gte=since) | Exists(seen), is_active=True)


def iterate_id_slices(people: QuerySet[User]) -> Iterator[list[int]]:
    """Yield the ids of these users in ascending order, ``SLICE`` at a time, by keyset."""
    ids, after = people.order_by("pk").values_list("pk", flat=True), 0
    while found := list(ids.filter(pk__gt=after)[:USERS_PER_SLICE]):
        yield found
        after = found[-1]
