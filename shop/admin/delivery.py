"""Delivery in the admin: zones, methods and prices."""

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import TabularInline
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin
from shop.admin.forms import PRICE_LABEL, MoneyField, label_inputs
from shop.models import DeliveryMethod, DeliveryPrice, DeliveryZone
from shop.money import format_money


class _WithPermissionsOfSales:
    """A page with the permissions of sales, so that the role "shop" of an existing site has them."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("shop.view_sale") or request.user.has_perm("shop.change_sale")

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("shop.add_sale")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("shop.change_sale")

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return request.user.has_perm("shop.delete_sale")


@admin.register(DeliveryZone)
class DeliveryZoneAdmin(_WithPermissionsOfSales, BigTableAdmin):
    """Sets of countries with methods of their own."""

    list_display = ["name", "countries"]
    search_fields = ["name", "countries"]


class PriceForm(forms.ModelForm):
    """The price of a method up to a weight."""

    price = MoneyField(label=PRICE_LABEL)

    class Meta:
        model = DeliveryPrice
        fields = ("max_grams", "price")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        label_inputs(self)


class PriceFormSet(forms.BaseInlineFormSet):
    """The prices of a method, which delivers nothing without one."""

    def clean(self) -> None:
        super().clean()
        kept = [form for form in self.forms if form.has_changed() or form.instance.pk]
        if not any(self.errors) and not [form for form in kept if form not in self.deleted_forms]:
            raise ValidationError(gettext("Enter at least one price. Without one, nobody can choose this method."))


class PriceInline(_WithPermissionsOfSales, TabularInline):
    """The prices of a method by weight."""

    model = DeliveryPrice
    form = PriceForm
    formset = PriceFormSet
    extra = 1
    hide_title = True


class MethodForm(forms.ModelForm):
    """A method, with the total from which it is free in whole units."""

    free_from = MoneyField(label=_("Free from"), required=False)

    class Meta:
        model = DeliveryMethod
        fields = ("zone", "name", "min_days", "max_days", "free_from", "is_active")


@admin.register(DeliveryMethod)
class DeliveryMethodAdmin(_WithPermissionsOfSales, BigTableAdmin):
    """Methods of delivery. Orders keep the name, the price and the days that they were offered."""

    form = MethodForm
    list_display = ["name", "zone", "days", "free_amount", "is_active"]
    list_filter = ["zone", "is_active"]
    list_select_related = ["zone"]
    inlines = [PriceInline]

    @display(description=_("working days"))
    def days(self, method: DeliveryMethod) -> str:
        return f"{method.min_days}–{method.max_days}"

    @display(description=_("free from"))
    def free_amount(self, method: DeliveryMethod) -> Any:
        return "–" if method.free_from is None else format_money(method.free_from)
