"""Filters of the list of orders."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from shop.models import Order
from shop.selectors.order_states import PAYMENT_STATES, filter_by_payment


class PaymentFilter(admin.SimpleListFilter):
    """Orders whose payment is in one state."""

    title = _("payment")
    parameter_name = "payment"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return list(PAYMENT_STATES.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Order]) -> QuerySet[Order]:
        state = self.value()
        return filter_by_payment(queryset, state) if state in PAYMENT_STATES else queryset
