"""Delete old cases with their reports, decisions and appeals, and cases about deleted accounts."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict
from social.moderation.models import AUTHORED_KINDS, Action, Appeal, Case, Decision


@repeat_after_conflict
def delete_old_cases() -> int:
    """Delete one slice of the cases that were closed ``REPORT_DAYS`` ago, oldest first. Return their number.

    Cases about deleted accounts are deleted earlier, when no appeal is possible any more. Cases with an open appeal
    stay.
    """
    closed_before = clock.now() - timedelta(days=settings.REPORT_DAYS)
    appeals = Appeal.objects.filter(decision__case=OuterRef("pk"), decided_at=None)
    is_old = Q(~Exists(appeals), closed_at__lt=closed_before)
    is_unneeded = Q(~_may_be_appealed(), author=None, kind__in=AUTHORED_KINDS, closed_at__lt=_get_first_day())
    old = Case.objects.filter(is_old | is_unneeded).order_by("closed_at")
    with transaction.atomic():
        ids = list(old.values_list("pk", flat=True)[:SLICE_SIZE])
        Case.objects.filter(pk__in=ids).delete()
    return len(ids)


@repeat_after_conflict
def erase_cases(user_id: int) -> bool:
    """Delete a slice of the cases about a reader whose account is deleted. Return whether more may be left.

    If staff decided to delete the account, cases stay as long as the reader may appeal or read the answer. The deletion
    of the user's row takes the author out of them.
    """
    cases = Case.objects.filter(author=user_id)
    if Decision.objects.filter(case__author=user_id, action=Action.CLOSE_ACCOUNT, reversed_at=None).exists():
        cases = cases.filter(~_may_be_appealed())
    with transaction.atomic():
        ids = list(cases.values_list("pk", flat=True)[:SLICE_SIZE])
        Case.objects.filter(pk__in=ids).delete()
    return len(ids) == SLICE_SIZE


def _may_be_appealed() -> Q:
    """Return the condition of cases with a decision that may be appealed, an open appeal or a recent answer to one."""
    since = _get_first_day()
    decisions = Decision.objects.filter(case=OuterRef("pk"), made_at__gte=since).exclude(action=Action.DISMISS)
    # Nobody can send the answer to a deleted account. Its owner has time to read it on the page.
    appeals = Appeal.objects.filter(Q(decided_at=None) | Q(decided_at__gte=since), decision__case=OuterRef("pk"))
    return Q(Exists(decisions) | Exists(appeals))


def _get_first_day() -> datetime:
    """Return the time of the oldest decision that may be appealed."""
    return clock.now() - timedelta(days=settings.APPEAL_DAYS)
