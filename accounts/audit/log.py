"""Write the audit log of security events and actions of staff. Each row is written in the transaction of its event.

>>> note(Kind.EXPORT, "logins.csv")  # by the user of the current request
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit.models import MAX_DETAILS, MAX_OBJECT, AuditEvent
from accounts.ratelimit import address
from accounts.sessions import current
from config.bulk import SLICE
from config.logs import escape

Kind = AuditEvent.Kind
KEPT: Final = timedelta(days=365)


def note(kind: str, about: Model | str = "", details: str = "", *, actor: Any = None) -> AuditEvent:
    """Write an event and return it.

    about: the row that the event concerns, or a text. actor: by default the user of the current request.
    """
    request = current.get()
    who = actor or getattr(request, "user", None)
    event = AuditEvent(
        kind=kind,
        actor_id=who.pk if who is not None and who.is_authenticated else None,
        object=escape(str(about))[:MAX_OBJECT],
        address=address(request) if request is not None else "",
        details=escape(details)[:MAX_DETAILS],
    )
    if isinstance(about, Model):
        event.model, event.object_id = about._meta.label_lower, str(about.pk)[:64]
    event.save()
    return event


def log_rows(request: HttpRequest, rows: Iterable[Model], flag: int, message: str = "") -> list[LogEntry]:
    """Write the admin's log entries for ``rows`` and an event for each. Every admin action calls this function."""
    assert request.user.pk is not None
    with transaction.atomic():
        entries = LogEntry.objects.log_actions(request.user.pk, rows, flag, message)
        if len(entries) > 1:  # for a single entry Django sends a signal (``accounts.audit.receivers``)
            note_entries(entries)
    return entries


def note_entries(entries: Sequence[LogEntry]) -> None:
    """Write an event for each of these entries of the admin's log."""
    request = current.get()
    AuditEvent.objects.bulk_create(
        AuditEvent(
            kind=Kind.STAFF,
            actor_id=entry.user_id,
            model=_model_of(entry),
            object_id=str(entry.object_id)[:64],
            object=escape(entry.object_repr)[:MAX_OBJECT],
            address=address(request) if request is not None else "",
            details=escape(f"{entry.get_action_flag_display()}. {entry.get_change_message()}")[:MAX_DETAILS],
        )
        for entry in entries
    )


def _model_of(entry: LogEntry) -> str:
    """Return the label of an entry's model, from the cache of content types."""
    known = ContentType.objects
    return ".".join(known.get_for_id(entry.content_type_id).natural_key()) if entry.content_type_id else ""


def delete_old() -> int:
    """Delete one slice of the events older than ``KEPT``, oldest first. Return the number of deleted events."""
    with transaction.atomic():
        over = AuditEvent.objects.filter(at__lt=timezone.now() - KEPT).order_by("at")
        return AuditEvent.objects.filter(pk__in=list(over.values_list("pk", flat=True)[:SLICE])).delete()[0]
