"""Delete old cases with their reports, decisions and appeals."""

from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from common import clock
from common.database import SLICE_SIZE, repeat_after_conflict
from social.moderation.models import Appeal, Case


@repeat_after_conflict
def delete_old_cases() -> int:
    """Delete one slice of the cases that were closed ``REPORT_DAYS`` ago, oldest first. Return their number.

    Cases with an open appeal stay.
    """
    closed_before = clock.now() - timedelta(days=settings.REPORT_DAYS)
    appeals = Appeal.objects.filter(decision__case=OuterRef("pk"), decided_at=None)
    old = Case.objects.filter(~Exists(appeals), closed_at__lt=closed_before).order_by("closed_at")
    with transaction.atomic():
        ids = list(old.values_list("pk", flat=True)[:SLICE_SIZE])
        Case.objects.filter(pk__in=ids).delete()
    return len(ids)
