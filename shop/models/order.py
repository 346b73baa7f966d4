"""Orders: the shop's ledger, kept in SQL only."""

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q, Value
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from common.text import fold_address
from shop.models.product import Product


class OrderState(models.TextChoices):
    """The states of an order. Their names for readers tell the fulfilment; payments have states of their own.

    reserved -> paid -> sent (a free order is paid at once); reserved -> expired (and -> paid if the payment arrives
    late and copies are left); reserved or paid -> cancelled.
    """

    RESERVED = "reserved", _("waiting for payment")
    PAID = "paid", _("to be sent")
    SENT = "sent", _("sent")
    CANCELLED = "cancelled", _("cancelled")
    EXPIRED = "expired", _("not paid in time")


class OrderQuerySet(models.QuerySet["Order"]):
    """Queries for orders."""

    def of_user(self, user_id: int) -> Self:
        """A user's orders, newest first."""
        return self.filter(user_id=user_id).order_by("-pk")

    def past_deadline(self, moment: datetime) -> Self:
        """Unpaid orders whose reservation has ended."""
        return self.filter(state=OrderState.RESERVED, reserved_until__lte=moment)

    def awaiting_confirmation(self) -> Self:
        """Paid orders whose confirmation has not been sent."""
        return self.filter(state__in=(OrderState.PAID, OrderState.SENT), confirmed_at=None, paid_at__isnull=False)


class Order(models.Model):
    """A purchase. In the state ``reserved`` its copies are held until ``reserved_until``.

    key: identifies the checkout that created it; repeating the checkout gives the same order.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        verbose_name=_("customer"),
        on_delete=models.SET_NULL,
        null=True,
        related_name="orders",
        db_index=False,
    )
    key = models.CharField(_("checkout"), max_length=64, unique=True, editable=False)
    state = models.CharField(_("fulfilment"), max_length=10, choices=OrderState, default=OrderState.RESERVED)
    # With delivery, and with the VAT that it includes.
    total = models.PositiveBigIntegerField(_("total"), help_text=_("In cents."))
    # The method of delivery as it was offered. Without one, as in a shop without methods, delivery is free.
    delivery_name = models.CharField(_("delivery"), max_length=60, blank=True, default="", db_default="")
    delivery_price = models.PositiveIntegerField(_("price of delivery"), default=0, db_default=0)
    arrives_from = models.DateField(_("arrives from"), null=True, blank=True)
    arrives_by = models.DateField(_("arrives by"), null=True, blank=True)
    # The parcel, as the shop sent it. The carrier is a name of SHOP_CARRIERS.
    carrier = models.CharField(_("carrier"), max_length=40, blank=True, default="", db_default="", editable=False)
    tracking_number = models.CharField(
        _("tracking number"), max_length=40, blank=True, default="", db_default="", editable=False
    )
    # Rates in percent. None: the shop charged no VAT, or the order is older than the rates.
    delivery_vat_rate = models.DecimalField(
        _("rate of VAT of delivery"), max_digits=4, decimal_places=2, null=True, blank=True
    )
    delivery_vat = models.PositiveIntegerField(_("VAT of delivery"), null=True, blank=True)
    vat = models.PositiveBigIntegerField(_("included VAT"), null=True, blank=True)
    email = models.EmailField(_("email address"))
    name = models.CharField(_("name"), max_length=150)
    # As on the parcel. Older orders have only this text of their address.
    address = models.TextField(_("address"), max_length=1000)
    country = models.CharField(_("country"), max_length=2, blank=True, default="", db_default="", editable=False)
    # The fields as they were typed, by name (``shop.addresses.formats``).
    address_parts = models.JSONField(
        _("fields of the address"), default=dict, db_default=Value({}, models.JSONField()), blank=True, editable=False
    )
    phone = models.CharField(_("phone"), max_length=30, blank=True, default="", db_default="")
    created_at = models.DateTimeField(_("ordered"), default=timezone.now)
    reserved_until = models.DateTimeField(_("reserved until"))
    paid_at = models.DateTimeField(_("paid"), null=True, blank=True)
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True)
    cancelled_at = models.DateTimeField(_("cancelled"), null=True, blank=True)
    # For emails to the buyer: the language of the request that ordered, and the site for links ("https://host").
    # Empty: the site's default language, and no links.
    language = models.CharField(_("language"), max_length=10, blank=True, editable=False)
    site = models.CharField(_("site"), max_length=200, blank=True, editable=False)
    # None until the confirmation is sent.
    confirmed_at = models.DateTimeField(_("confirmation sent"), null=True, blank=True, editable=False)

    # Set by ``shop.selectors.order_states.annotate_states``.
    fulfilment: str
    payment_state: str

    objects = OrderQuerySet.as_manager()

    class Meta:
        verbose_name = _("order")
        verbose_name_plural = _("orders")
        permissions = [("view_figures", "Can view the figures of sales")]  # without the orders and their addresses
        constraints = [models.CheckConstraint(condition=Q(state__in=OrderState.values), name="shop_order_state")]
        indexes = [
            models.Index(fields=["user", "-id"], name="shop_order_of_user"),
            models.Index(fields=["reserved_until"], condition=Q(state="reserved"), name="shop_order_reserved"),
            models.Index(fields=["state", "-id"], name="shop_order_by_state"),
            models.Index(fields=["paid_at"], name="shop_order_by_payment"),
            models.Index(
                fields=["paid_at"],
                condition=Q(confirmed_at=None, paid_at__isnull=False),
                name="shop_order_to_confirm",
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk}"

    @property
    def is_of_guest(self) -> bool:
        """Whether a guest ordered. Orders of deleted accounts have no reader and no email address either."""
        return self.user_id is None and self.email != ""

    @property
    def gets_notices(self) -> bool:
        """Whether its address gets more than the confirmation: it is verified, or that of a guest, who has no other."""
        if self.user is None:
            return self.is_of_guest
        return fold_address(self.user.email) == fold_address(self.email)

    @property
    def goods_total(self) -> int:
        """The total without delivery, in cents."""
        return self.total - self.delivery_price


class OrderLine(models.Model):
    """The quantity of one product in an order, and the price of one copy at that time, in cents."""

    order = models.ForeignKey(
        Order, verbose_name=_("order"), on_delete=models.CASCADE, related_name="lines", db_index=False
    )
    product = models.ForeignKey(
        Product, verbose_name=_("product"), on_delete=models.PROTECT, related_name="order_lines"
    )
    title = models.CharField(_("title"), max_length=500)
    quantity = models.PositiveIntegerField(_("quantity"))
    price = models.PositiveIntegerField(_("price"), help_text=_("In cents, for one."))
    vat_rate = models.DecimalField(_("rate of VAT"), max_digits=4, decimal_places=2, null=True, blank=True)
    vat = models.PositiveBigIntegerField(_("included VAT"), null=True, blank=True)

    class Meta:
        verbose_name = _("line of an order")
        verbose_name_plural = _("lines of an order")
        constraints = [
            models.UniqueConstraint(fields=["order", "product"], name="shop_orderline_once"),
            models.CheckConstraint(condition=Q(quantity__gt=0), name="shop_orderline_some"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} × {self.title}"

    @property
    def total(self) -> int:
        """The price of the line, in cents."""
        return self.quantity * self.price
