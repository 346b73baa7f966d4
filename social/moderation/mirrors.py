"""The mirror that derives notifications of decisions: not every reader has an address for the letter."""

from collections.abc import Iterable, Sequence

from django.utils.translation import gettext_lazy as _

import mirror
from accounts.notifications.tables import Fact, NotificationTable, watch_preferences
from common.ids import parse_ids
from mirror import Watch
from mirror.conf import setting
from social.moderation.models import Action, Decision


@mirror.register
class DecisionNotifications(NotificationTable):
    """A notification for each decision about a reader. The key is that of its row."""

    name = "notified_decision"
    label = _("notifications: decisions")
    kind = "decision"
    tables = "notifications_decision"
    model = Decision
    watches = (Watch(Decision, only=("action",)), watch_preferences("decision"))

    def find_facts(self, pks: Sequence[str]) -> Iterable[Fact]:
        made = Decision.objects.using(setting("DATABASE")).filter(pk__in=parse_ids(pks), case__author__isnull=False)
        rows = made.exclude(action=Action.DISMISS).values_list("pk", "case__author_id", "made_at")
        return [Fact(str(pk), author, None, at, pk) for pk, author, at in rows]
