"""The mirror of notifications. Their rows are written by the mirrors of the kinds (``tables``)."""

from django.db.models import Q

import mirror
from accounts import keys
from accounts.notifications.models import Notification, Way
from mirror import Column, Mirror, Ranking, SetOf


@mirror.register
class NotificationMirror(Mirror):
    """The record of each notification, the list of each reader, and the reader's unread ones."""

    model = Notification
    key = keys.notification("{pk}")
    fields = (
        "id",
        Column("user_id", name="user"),
        "kind",
        "target",
        "count",
        "actors",
        "last_at",
        "is_unread",
    )
    where = ~Q(way=Way.OFF)
    indexes = (
        Ranking(keys.notifications_of("{{user}}"), score="last_at"),
        SetOf(keys.unread("{{user}}"), when="is_unread"),
    )
