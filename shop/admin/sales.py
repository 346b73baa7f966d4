"""Sales in the admin, with their periods and prices."""

from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.forms import ModelForm
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline
from unfold.decorators import display

from accounts.admin_tools import BigTableAdmin, Column, ExportAdmin, PermittedLinks, SerialisedEdits
from catalog.models import Tag
from common import clock
from shop.admin.forms import MAX_NAMED_PRODUCTS, SaleForm, SaleItemForm, join_titles
from shop.delivery.vat import format_rate
from shop.models import Sale, SaleItem
from shop.products.price_changes import add_tagged_products


class ItemInline(PermittedLinks, TabularInline):
    """The products of a sale."""

    model = SaleItem
    form = SaleItemForm
    fields = ["product", "price"]
    autocomplete_fields = ["product"]
    extra = 1
    per_page = 50
    hide_title = True
    ordering: ClassVar[Any] = ["pk"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[SaleItem]:
        return super().get_queryset(request).select_related("product__book")


@admin.register(Sale)
class SaleAdmin(SerialisedEdits, ExportAdmin, BigTableAdmin):
    """Sales, with their products."""

    form = SaleForm
    list_display = ["name", "starts_at", "ends_at", "status", "products"]
    search_fields = ["name"]
    linked_lookups = ["items__product__exact"]  # the sales of one product
    fields = ["name", "starts_at", "ends_at", "tag", "percent"]
    ordering: ClassVar[Any] = ["-starts_at", "-pk"]
    inlines = [ItemInline]
    actions = ["end_now", "export_csv"]
    export_columns = [
        Column("name", "name"),
        Column("starts", "starts_at"),
        Column("ends", "ends_at"),
        Column("products", "item_count"),
    ]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return ModelAdmin.has_add_permission(self, request)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Sale]:
        items = SaleItem.objects.filter(sale=OuterRef("pk")).order_by().values("sale")
        count = Subquery(items.annotate(n=Count("pk")).values("n"), output_field=IntegerField())
        return super().get_queryset(request).annotate(item_count=Coalesce(count, 0))

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[str, int], set[str], list[Any]]:
        """Return the sales by name, and only the number of their products."""
        count = SaleItem.objects.filter(sale__in=[sale.pk for sale in objs]).count()
        counts = {str(Sale._meta.verbose_name_plural): len(objs), str(SaleItem._meta.verbose_name_plural): count}
        lacking = set() if self.has_delete_permission(request) else {str(Sale._meta.verbose_name)}
        return [str(sale) for sale in objs], counts, lacking, []

    def save_model(self, request: HttpRequest, obj: Sale, form: ModelForm, change: bool) -> None:
        # Save only edited fields; the others may have changed since the page was shown.
        changed = [name for name in form.changed_data if name not in ("tag", "percent")]
        obj.save(update_fields=changed if change else None)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        self._add_tagged_products(request, form)
        dear = SaleItem.objects.filter(sale=form.instance, price__gte=F("product__price"))
        names = list(dear.order_by("pk").values_list("product__book__title", flat=True)[: MAX_NAMED_PRODUCTS + 1])
        if names:
            text = gettext("These sale prices are not lower than the usual prices: %(titles)s")
            self.message_user(request, text % {"titles": join_titles(names)}, messages.WARNING)

    def _add_tagged_products(self, request: HttpRequest, form: Any) -> None:
        tag, percent = form.cleaned_data.get("tag"), form.cleaned_data.get("percent")
        if tag and percent:
            count = add_tagged_products(form.instance, tag, percent)
            text = ngettext("%(n)d product was added to the sale.", "%(n)d products were added to the sale.", count)
            self.done(request, text, count)
            self.log(request, [form.instance], CHANGE, _describe_addition(form.instance, tag, percent, count))

    @display(description=_("state"), label={"on": "success", "to come": "info", "over": "danger"})
    def status(self, sale: Sale) -> tuple[str, Any]:
        """Return whether the sale is on, to come or over."""
        now = clock.now()
        if sale.starts_at > now:
            return "to come", _("upcoming")
        return ("on", _("on now")) if sale.ends_at > now else ("over", _("ended"))

    @display(description=_("products"))
    def products(self, sale: Any) -> int:
        return int(sale.item_count)

    @admin.action(description=_("End selected sales now"), permissions=["change"])
    def end_now(self, request: HttpRequest, rows: QuerySet[Sale]) -> None:
        now = clock.now()
        chosen = [sale.pk for sale in self.chosen(request, rows)]
        found = list(Sale.objects.filter(pk__in=chosen, starts_at__lt=now).ending_after(now))
        count = Sale.objects.filter(pk__in=[sale.pk for sale in found], ends_at__gt=now).update(ends_at=now)
        self.log(request, found, CHANGE, gettext("Ended."))
        text = ngettext("%(n)d sale has ended.", "%(n)d sales have ended.", count)
        self.done(request, text, count)


def _describe_addition(sale: Sale, tag: Tag, percent: Decimal, count: int) -> str:
    """Return the entry of the audit log about the products of a tag that were added to a sale."""
    text = ngettext(
        "Added %(n)d book with the tag “%(tag)s” at %(percent)s%% less, from %(start)s to %(end)s.",
        "Added %(n)d books with the tag “%(tag)s” at %(percent)s%% less, from %(start)s to %(end)s.",
        count,
    )
    start, end = (date_format(timezone.localtime(at), "DATETIME_FORMAT") for at in (sale.starts_at, sale.ends_at))
    return text % {"n": count, "tag": tag.name, "percent": format_rate(percent), "start": start, "end": end}
