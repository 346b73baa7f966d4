"""Counters of failed logins in SQL."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class FailedLogins(models.Model):
    """The number of recent failures of a name, an address, or both together (``accounts.lockout.limits``)."""

    class Kind(models.TextChoices):
        PAIR = "pair", _("name from one address")
        NAME = "name", _("name from any address")
        ADDRESS = "address", _("any name from one address")
        DEVICE = "device", _("name from a known device")
        FORM = "form", _("registrations and password resets")

    key = models.CharField(_("key"), max_length=64, primary_key=True)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=200, blank=True, db_index=True)
    address = models.CharField(_("address or device"), max_length=64, blank=True, db_index=True)
    count = models.PositiveIntegerField(_("failures"))
    allowed = models.PositiveIntegerField(_("limit"))
    ends_at = models.DateTimeField(_("expires"), db_index=True)

    class Meta:
        app_label = "accounts"
        verbose_name = _("failed logins")
        verbose_name_plural = _("failed logins")

    def __str__(self) -> str:
        return " · ".join(filter(None, (self.name, self.address)))
