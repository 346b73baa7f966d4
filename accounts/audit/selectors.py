"""Figures of the audit log for staff."""

from datetime import datetime

from accounts.audit.models import AuditEvent
from mirror.admin import count_rows


def count_events(since: datetime) -> int:
    """Return the number of events since that moment."""
    return count_rows(AuditEvent.objects.filter(at__gte=since))
