"""Addresses that readers save for their next orders."""

from typing import Self

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class SavedAddressQuerySet(models.QuerySet["SavedAddress"]):
    """Queries for saved addresses."""

    def of_user(self, user_id: int) -> Self:
        """A reader's addresses, the one that was used last first."""
        return self.filter(user_id=user_id).order_by("-used_at", "-pk")


class SavedAddress(models.Model):
    """An address that a reader saved. parts: the fields by name; address: the text as on the parcel, without the name
    (both from ``shop.addresses.formats``). used_at: the time when it was saved or last ordered to.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, verbose_name=_("reader"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    name = models.CharField(_("name"), max_length=150)
    country = models.CharField(_("country"), max_length=2)
    parts = models.JSONField(_("fields of the address"), default=dict)
    address = models.TextField(_("address"), max_length=1000)
    phone = models.CharField(_("phone"), max_length=30, blank=True, default="")
    used_at = models.DateTimeField(_("last used"), default=timezone.now)

    objects = SavedAddressQuerySet.as_manager()

    class Meta:
        verbose_name = _("saved address")
        verbose_name_plural = _("saved addresses")
        indexes = [models.Index(fields=["user", "-used_at", "-id"], name="shop_savedaddress_of_user")]

    def __str__(self) -> str:
        return f"{self.user_id}: {self.country}"
