"""Write the audit log of security events and actions of staff. Each row is written in the transaction of its event.

>>> note(Kind.EXPORT, "logins.csv")  # by the user of the current request
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Final

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import AnonymousUser
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.db.models import Model
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit.models import MAX_DETAILS, MAX_OBJECT, AuditEvent
from accounts.models import User
from accounts.ratelimit import get_client_address
from accounts.sessions.engine import current_request
from common.database import SLICE_SIZE, repeat_after_conflict
from common.logs import escape_controls
from common.web import get_user_id

Kind = AuditEvent.Kind
RETENTION: Final = timedelta(days=365)


def record_event(
    kind: str, about: Model | str = "", details: str = "", *, actor: User | AnonymousUser | None = None
) -> AuditEvent:
    """Write an event and return it.

    about: the row that the event concerns, or a text. actor: by default the user of the current request.
    """
    request = current_request.get()
    who = actor or getattr(request, "user", None)
    event = AuditEvent(
        kind=kind,
        actor_id=who.pk if who is not None and who.is_authenticated else None,
        object=escape_controls(str(about))[:MAX_OBJECT],
        address=get_client_address(request) if request is not None else "",
        details=escape_controls(details)[:MAX_DETAILS],
    )
    if isinstance(about, Model):
        event.model, event.object_id = about._meta.label_lower, str(about.pk)[:64]
    event.save()
    return event


@repeat_after_conflict
def log_rows(request: HttpRequest, rows: Iterable[Model], flag: int, message: str = "") -> list[LogEntry]:
    """Write the admin's log entries for ``rows`` and an event for each. Every admin action calls this function."""
    assert request.user.pk is not None
    with transaction.atomic():
        entries = LogEntry.objects.log_actions(request.user.pk, rows, flag, message)
        if len(entries) > 1:  # for a single entry Django sends a signal (``accounts.audit.receivers``)
            record_log_entries(entries)
    return entries


@repeat_after_conflict
def log_each_change(request: HttpRequest, messages: Sequence[tuple[Model, str]], flag: int = CHANGE) -> None:
    """Write an entry of the admin's log and an event for each changed row, with a message of its own."""
    types = ContentType.objects
    with transaction.atomic():
        entries = LogEntry.objects.bulk_create(
            LogEntry(
                user_id=get_user_id(request),
                content_type_id=types.get_for_model(row).pk,
                object_id=str(row.pk),
                object_repr=str(row)[:MAX_OBJECT],
                action_flag=flag,
                change_message=message,
            )
            for row, message in messages
        )
        record_log_entries(entries)


def record_log_entries(entries: Sequence[LogEntry]) -> None:
    """Write an event for each of these entries of the admin's log."""
    request = current_request.get()
    AuditEvent.objects.bulk_create(
        AuditEvent(
            kind=Kind.STAFF,
            actor_id=entry.user_id,
            model=_get_model_label(entry),
            object_id=str(entry.object_id)[:64],
            object=escape_controls(entry.object_repr)[:MAX_OBJECT],
            address=get_client_address(request) if request is not None else "",
            details=escape_controls(f"{entry.get_action_flag_display()}. {entry.get_change_message()}")[:MAX_DETAILS],
        )
        for entry in entries
    )


def _get_model_label(entry: LogEntry) -> str:
    """Return the label of an entry's model, from the cache of content types."""
    known = ContentType.objects
    return ".".join(known.get_for_id(entry.content_type_id).natural_key()) if entry.content_type_id else ""


@repeat_after_conflict
def delete_old_events() -> int:
    """Delete one slice of the events older than ``RETENTION``, oldest first. Return the number of deleted events."""
    with transaction.atomic():
        over = AuditEvent.objects.filter(at__lt=timezone.now() - RETENTION).order_by("at")
        return AuditEvent.objects.filter(pk__in=list(over.values_list("pk", flat=True)[:SLICE_SIZE])).delete()[0]
