"""Write audit events for Django's signals: admin log entries, changes of permissions, deleted users.

The admin's own log lacks the network address, and its entries are deleted with their user.
"""

from typing import Any, Final

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.db.models.signals import m2m_changed, post_save, pre_delete
from django.dispatch import receiver

from accounts.audit.log import Kind, record_event, record_log_entries
from accounts.audit.models import AuditEvent
from accounts.models import Suspension, User

ACTION_WORDS: Final = {"post_add": "added", "post_remove": "removed", "pre_clear": "removed all"}


@receiver(post_save, sender=LogEntry, dispatch_uid="accounts.audit.entry")
def record_log_entry(*, instance: LogEntry, created: bool, **kwargs: Any) -> None:
    """Write an event for an admin log entry about one row."""
    if created:
        record_log_entries([instance])


@receiver(m2m_changed, sender=User.groups.through, dispatch_uid="accounts.audit.groups")
@receiver(m2m_changed, sender=User.user_permissions.through, dispatch_uid="accounts.audit.permissions")
@receiver(m2m_changed, sender=Group.permissions.through, dispatch_uid="accounts.audit.group")
def record_permission_change(*, instance: Any, action: str, model: Any, pk_set: set[int] | None, **kwargs: Any) -> None:
    """Write an event when groups or permissions are given or taken away, by the admin or by any other code."""
    if action in ACTION_WORDS and pk_set != set():
        names = ", ".join(map(str, model.objects.filter(pk__in=pk_set))) if pk_set else model._meta.verbose_name_plural
        record_event(Kind.RIGHTS, instance, f"{ACTION_WORDS[action]}: {names}")


@receiver(pre_delete, sender=User, dispatch_uid="accounts.audit.deleted")
def anonymize_user(*, instance: User, **kwargs: Any) -> None:
    """Remove the name, the id and the IP addresses of a deleted user from the log. The events stay."""
    labels = [model._meta.label_lower for model in (User, Suspension)]
    about = AuditEvent.objects.filter(model__in=labels, object_id=str(instance.pk))
    about.update(object="", object_id="", details="")
    AuditEvent.objects.filter(actor=instance).update(address="")
