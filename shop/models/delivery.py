"""Delivery: zones of countries, methods, and their prices by weight."""

from typing import Self

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from shop.addresses.countries import list_codes


def split_codes(text: str) -> list[str]:
    """Return the codes of countries in a text such as "DE, AT"."""
    return text.replace(",", " ").upper().split()


def check_codes(text: str) -> None:
    """Check that a text has codes of countries only. Raises ValidationError."""
    if unknown := sorted(set(split_codes(text)) - list_codes()):
        raise ValidationError(gettext("Unknown countries: %(codes)s") % {"codes": ", ".join(unknown)})


class DeliveryZone(models.Model):
    """A set of countries. The zone without countries is for all countries that no other zone names."""

    name = models.CharField(_("name"), max_length=60, unique=True)
    countries = models.TextField(
        _("countries"),
        max_length=1000,
        blank=True,
        validators=[check_codes],
        help_text=_("Codes such as “DE, AT”. Leave it empty for all countries that no other zone names."),
    )

    class Meta:
        verbose_name = _("delivery zone")
        verbose_name_plural = _("delivery zones")

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        """Check that each country is in one zone, and that one zone is for all others. Raises ValidationError."""
        others = list(DeliveryZone.objects.exclude(pk=self.pk))
        if not self.codes:
            if rest := [zone.name for zone in others if not zone.codes]:
                text = gettext("The zone “%(zone)s” is already for all other countries. Enter countries here.")
                raise ValidationError({"countries": text % {"zone": rest[0]}})
            return
        for zone in others:
            if both := sorted(zone.codes & self.codes):
                text = gettext("These countries are in the zone “%(zone)s” already: %(codes)s")
                raise ValidationError({"countries": text % {"zone": zone.name, "codes": ", ".join(both)}})

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the countries."""
        return frozenset(split_codes(self.countries))


class DeliveryMethodQuerySet(models.QuerySet["DeliveryMethod"]):
    """Queries for methods of delivery."""

    def offered(self) -> Self:
        """Methods that buyers can choose, with their zones and prices. Two queries."""
        return self.filter(is_active=True).select_related("zone").prefetch_related("prices").order_by("pk")


class DeliveryMethod(models.Model):
    """A way to deliver to a zone. free_from: the total of the books, in cents, from which it is free."""

    zone = models.ForeignKey(DeliveryZone, verbose_name=_("zone"), on_delete=models.CASCADE, related_name="methods")
    name = models.CharField(_("name"), max_length=60, help_text=_("As buyers see it."))
    min_days = models.PositiveSmallIntegerField(_("from"), default=2, help_text=_("In working days."))
    max_days = models.PositiveSmallIntegerField(_("to"), default=4, help_text=_("In working days."))
    free_from = models.PositiveIntegerField(_("free from"), null=True, blank=True, help_text=_("In cents."))
    is_active = models.BooleanField(_("offered"), default=True)

    objects = DeliveryMethodQuerySet.as_manager()

    class Meta:
        verbose_name = _("method of delivery")
        verbose_name_plural = _("methods of delivery")
        constraints = [
            models.CheckConstraint(condition=Q(max_days__gte=F("min_days")), name="shop_delivery_days"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.zone})"

    def clean(self) -> None:
        """Check the order of the days. Raises ValidationError."""
        # A form without one of the two has an error of its own.
        if None not in (self.min_days, self.max_days) and self.max_days < self.min_days:
            raise ValidationError({"max_days": gettext("The last day cannot be before the first.")})


class DeliveryPrice(models.Model):
    """The price of a method for parcels up to a weight, in cents."""

    method = models.ForeignKey(
        DeliveryMethod, verbose_name=_("method of delivery"), on_delete=models.CASCADE, related_name="prices"
    )
    max_grams = models.PositiveIntegerField(_("up to"), help_text=_("In grams, with all books of the parcel."))
    price = models.PositiveIntegerField(_("price"), help_text=_("In cents."))

    class Meta:
        verbose_name = _("price of delivery")
        verbose_name_plural = _("prices of delivery")
        ordering = ["max_grams"]
        constraints = [models.UniqueConstraint(fields=["method", "max_grams"], name="shop_delivery_price_once")]

    def __str__(self) -> str:
        return f"{self.max_grams} g"
