"""Products in the admin: price, stock and sale."""

from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin
from unfold.decorators import display

from accounts.admin_tools import (
    BigTableAdmin,
    Column,
    ExportAdmin,
    Question,
    RelatedRowsAdmin,
    SerialisedEdits,
    ask_for_confirmation,
    is_confirmed,
)
from catalog.values import normalise_isbn
from shop.admin.forms import ProductActionForm, ProductForm
from shop.admin.prices import PriceChangeAdmin
from shop.admin.product_import import ProductImportAdmin
from shop.admin.row_actions import UnchangedRow, warn_of_unchanged
from shop.admin.stock_history import StockHistoryAdmin
from shop.catalog_hooks.buy_box import MAX_FEW_COPIES
from shop.models import Product, ProductQuerySet
from shop.money import format_money
from shop.services import products as services

MAX_ADDED_COPIES: Final = 100_000  # copies that one action may add


def _show_stock(product: Product) -> str:
    """Return the stock of a product as the preview of added copies sends it."""
    return f"{product.pk}:{product.stock}"


class AvailabilityFilter(admin.SimpleListFilter):
    """Filter products by the number of copies that can be bought."""

    title = _("can be bought")
    parameter_name = "left"

    def lookups(self, request: HttpRequest, model_admin: admin.ModelAdmin) -> list[tuple[str, Any]]:
        return [("none", _("none")), ("few", _("a few")), ("many", _("more"))]

    def queryset(self, request: HttpRequest, queryset: Any) -> ProductQuerySet:
        limits = {
            "none": {"most": 0},
            "few": {"least": 1, "most": MAX_FEW_COPIES},
            "many": {"least": MAX_FEW_COPIES + 1},
        }
        chosen = limits.get(self.value() or "")
        return queryset.with_copies(**chosen) if chosen else queryset


@admin.register(Product)
class ProductAdmin(
    SerialisedEdits,
    ProductImportAdmin,
    PriceChangeAdmin,
    StockHistoryAdmin,
    RelatedRowsAdmin,
    ExportAdmin,
    BigTableAdmin,
):
    """Products with price and stock. Products are not deleted but withdrawn from sale."""

    form = ProductForm
    action_form = ProductActionForm
    list_display = ["title", "usual_price", "stock", "reserved", "left", "is_active"]
    list_filter = ["is_active", AvailabilityFilter]
    search_fields = ["book__title", "book__original_title", "book__isbn"]
    autocomplete_fields = ["book"]
    fields = ["book", "price", "stock", "grams", "vat_class", "is_active"]
    actions = ["add_copies", "change_prices", "offer", "withdraw", "export_csv"]
    export_columns = [
        Column("id", "pk"),
        Column("isbn", "book__isbn"),
        Column("title", "book__title"),
        Column("price_in_cents", "price"),
        Column("stock", "stock"),
        Column("reserved", "reserved"),
        Column("grams", "grams"),
        Column("for_sale", "is_active"),
    ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Product]:
        return super().get_queryset(request).select_related("book")

    def get_search_results(self, request: HttpRequest, queryset: QuerySet[Any], search_term: str) -> Any:
        return super().get_search_results(request, queryset, normalise_isbn(search_term))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*self.fields, "reserved"] if obj else self.fields

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return ["book", "reserved"] if obj else []

    def save_model(self, request: HttpRequest, obj: Product, form: Any, change: bool) -> None:
        if not change:
            obj.save(force_insert=True)
            return
        names = [name for name in ("price", "is_active", "grams", "vat_class") if name in form.changed_data]
        if names:
            Product.objects.filter(pk=obj.pk).update(**{name: getattr(obj, name) for name in names})
        if form.more and not services.change_stock(obj.pk, form.more):
            text = gettext("The stock was not changed: copies were reserved for orders meanwhile.")
            self.message_user(request, text, messages.ERROR)

    @display(description=_("title"))
    def title(self, product: Product) -> str:
        return product.book.title

    @display(description=_("price"))
    def usual_price(self, product: Product) -> str:
        return format_money(product.price)

    @display(description=_("can be bought"), label={"none": "danger", "few": "warning", "many": "success"})
    def left(self, product: Product) -> tuple[str, str]:
        kind = "none" if product.available <= 0 else "few" if product.available <= MAX_FEW_COPIES else "many"
        return kind, str(product.available)

    @admin.action(description=_("Add copies of selected products"), permissions=["change"])
    def add_copies(self, request: HttpRequest, rows: QuerySet[Product]) -> HttpResponse | None:
        try:
            field = forms.IntegerField(min_value=1, max_value=MAX_ADDED_COPIES)
            copies = field.clean(request.POST.get("copies"))
        except ValidationError:
            text = gettext("Enter a number up to %(n)d next to the action.") % {"n": MAX_ADDED_COPIES}
            self.message_user(request, text, messages.WARNING)
            return None
        found = self.chosen(request, rows)
        if found and not is_confirmed(request):
            return self._ask_about_copies(request, found, copies)
        shown = set(request.POST.get("shown", "").split())
        changed = services.add_copies({row.pk: row.stock for row in found if _show_stock(row) in shown}, copies)
        done = [product for product in found if product.pk in changed]
        self.log(request, done, CHANGE, gettext("Added %(n)d copies.") % {"n": copies})
        text = ngettext("Copies were added to %(n)d product.", "Copies were added to %(n)d products.", len(done))
        self.done(request, text, len(done))
        why = gettext("the stock was changed meanwhile")
        warn_of_unchanged(self, request, [UnchangedRow(row, why) for row in found if row not in done])
        return None

    def _ask_about_copies(self, request: HttpRequest, found: Sequence[Product], copies: int) -> HttpResponse | None:
        """Return the preview. Its numbers keep a form that is sent twice from adding the copies twice."""
        possible = [row for row in found if row.stock <= services.MAX_STOCK - copies]
        why = gettext("the maximum would be exceeded")
        warn_of_unchanged(self, request, [UnchangedRow(row, why) for row in found if row not in possible])
        if not possible:
            return None
        question = Question(
            "add_copies",
            _("Add these copies?"),
            _("A product that is sold or restocked meanwhile stays unchanged."),
            _("Add copies"),
            {"copies": str(copies), "shown": " ".join(map(_show_stock, possible))},
        )
        lines = [(row, f"{row}: {row.stock} → {row.stock + copies}") for row in possible]
        return ask_for_confirmation(self, request, question, lines)

    @admin.action(description=_("Offer selected products for sale"), permissions=["change"])
    def offer(self, request: HttpRequest, rows: QuerySet[Product]) -> None:
        self._offer(request, rows, is_active=True)

    @admin.action(description=_("Stop selling selected products"), permissions=["change"])
    def withdraw(self, request: HttpRequest, rows: QuerySet[Product]) -> None:
        self._offer(request, rows, is_active=False)

    def _offer(self, request: HttpRequest, rows: QuerySet[Product], *, is_active: bool) -> None:
        found = [product for product in self.chosen(request, rows) if product.is_active != is_active]
        count = services.set_for_sale([product.pk for product in found], is_active=is_active)
        self.log(request, found, CHANGE, gettext("For sale.") if is_active else gettext("Not for sale."))
        if is_active:
            text = ngettext("%(n)d product is now for sale.", "%(n)d products are now for sale.", count)
        else:
            text = ngettext("%(n)d product is no longer for sale.", "%(n)d products are no longer for sale.", count)
        self.done(request, text, count)
