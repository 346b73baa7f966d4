"""Figures of lock-outs for staff."""

from django.db.models import F

from accounts.lockout.models import FailedLogins
from common import clock
from mirror.admin import count_rows


def count_lockouts() -> int:
    """Return the number of counters that refuse logins now."""
    return count_rows(FailedLogins.objects.filter(count__gte=F("allowed"), ends_at__gt=clock.now()))
