"""Events of the audit log."""

from typing import Final

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

MAX_OBJECT: Final = 200  # characters
MAX_DETAILS: Final = 1000


class AuditEvent(models.Model):
    """One security event or action of staff. It outlives the rows that it names, but loses names of deleted users."""

    class Kind(models.TextChoices):
        LOCKED_OUT = "locked out", _("locked out")
        PASSWORD = "password", _("password changed")
        EMAIL = "email", _("email address changed")
        NAME = "name", _("name changed")
        FACTOR = "factor", _("two-step login")
        RIGHTS = "rights", _("groups or permissions changed")
        STAFF = "staff", _("change by staff")
        CANCELLED = "cancelled", _("order cancelled by staff")
        EXPORT = "export", _("export")

    at = models.DateTimeField(_("time"), default=timezone.now, db_index=True)
    kind = models.CharField(_("event"), max_length=20, choices=Kind.choices)
    actor = models.ForeignKey(
        "accounts.User", verbose_name=_("by"), on_delete=models.SET_NULL, null=True, related_name="+"
    )
    model = models.CharField(_("model"), max_length=100, blank=True)
    object_id = models.CharField(_("number"), max_length=64, blank=True)
    object = models.CharField(_("object"), max_length=MAX_OBJECT, blank=True)
    address = models.CharField(_("address"), max_length=64, blank=True)
    details = models.CharField(_("details"), max_length=MAX_DETAILS, blank=True)

    class Meta:
        app_label = "accounts"
        verbose_name = _("audit event")
        verbose_name_plural = _("audit events")

    def __str__(self) -> str:
        return f"{self.at:%Y-%m-%d %H:%M:%S} {self.kind} {self.object}"
