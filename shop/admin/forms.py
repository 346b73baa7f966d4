"""Forms of the shop's admin. Staff type money in whole units; the database keeps cents."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.forms import ActionForm
from unfold.widgets import (
    UnfoldAdminDecimalFieldWidget,
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminSelectWidget,
    UnfoldAdminTextInputWidget,
)

from accounts.admin_tools import CompletedInput, ConcurrentEditForm
from catalog.tag_names import find_tag_named, list_frequent_tags, suggest_tag_names
from shop.models import Product, Sale, SaleItem
from shop.money import get_decimals, to_cents, to_units
from shop.products.price_changes import (
    MAX_TAGGED_PRODUCTS,
    find_products_made_free,
    find_products_to_add,
    get_example,
)
from shop.services.products import MAX_STOCK

MAX_NAMED_PRODUCTS: Final = 5  # largest number of products that a message names
FIELD_CLASSES = "bg-white/20 font-medium px-2 py-1 rounded-default text-sm placeholder:text-current"
PRICE_LABEL = format_lazy(_("Price in {currency}"), currency=settings.SHOP_CURRENCY)


class MoneyField(forms.DecimalField):
    """A price that is typed and shown as "12.50" and is 1250 outside of the form."""

    def __init__(self, **options: Any) -> None:
        decimals = get_decimals()
        widget = UnfoldAdminDecimalFieldWidget(attrs={"step": str(Decimal(1).scaleb(-decimals))})
        super().__init__(min_value=0, max_digits=7 + decimals, decimal_places=decimals, widget=widget, **options)

    def prepare_value(self, value: Any) -> Any:
        return str(to_units(value)) if isinstance(value, int) else value

    def clean(self, value: Any) -> Any:
        units = super().clean(value)
        return None if units is None else to_cents(units)

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the typed price with cents, or with the text of the hidden field."""
        return super().has_changed(self.to_python(self.prepare_value(initial)), data)


class ProductForm(ConcurrentEditForm):
    """Price, stock and the switch that offers a product for sale.

    A new stock is applied as the difference from the number that the page showed, because copies may be sold meanwhile.
    """

    counted = ("stock",)
    price = MoneyField(label=PRICE_LABEL)
    stock = forms.IntegerField(
        label=_("In stock"),
        min_value=0,
        max_value=MAX_STOCK,
        widget=UnfoldAdminIntegerFieldWidget(),
        help_text=_("All copies in stock, including reserved copies."),
    )
    more = 0  # copies to add to the stock that the page showed

    class Meta:
        model = Product
        fields: tuple[str, ...] = ()

    def clean_stock(self) -> int:
        typed: int = self.cleaned_data["stock"]
        if self.instance.pk is None:
            return typed
        self.more = typed - self._shown()
        left = int(self.instance.stock) + self.more
        if left < self.instance.reserved:
            reserved = self.instance.reserved
            text = gettext("%(n)d copies are reserved for orders: the stock cannot be lower.")
            raise ValidationError(text % {"n": reserved}, code="reserved")
        return left

    def _shown(self) -> int:
        """Return the stock that the page showed."""
        name, field = self.add_initial_prefix("stock"), self.fields["stock"]
        try:
            shown = field.to_python(field.hidden_widget().value_from_datadict(self.data, self.files, name))
        except ValidationError:
            shown = None
        return int(self.instance.stock) if shown is None else int(shown)


def join_titles(titles: Sequence[str]) -> str:
    """Return the first titles in one line, with an ellipsis if there are more."""
    return ", ".join(titles[:MAX_NAMED_PRODUCTS]) + (", …" if len(titles) > MAX_NAMED_PRODUCTS else "")


def label_inputs(form: forms.BaseForm) -> None:
    """Give each input of a line in a table its label, because the heading of the column is none."""
    for field in form.fields.values():
        field.widget.attrs["aria-label"] = field.label


class SaleItemForm(ConcurrentEditForm):
    """A product and its price in a sale. The product of an existing line cannot be changed."""

    price = MoneyField(label=PRICE_LABEL)

    def clean_price(self) -> int:
        price: int = self.cleaned_data["price"]
        # A slip, or a gift to everyone: the page of the product is the place for that.
        if price == 0:
            raise ValidationError(gettext("Enter a price above zero. Products are made free on their own pages."))
        return price

    class Meta:
        model = SaleItem
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        item = self.instance
        if item.pk is not None:
            # The autocomplete widget would run one query per line.
            product = self.fields["product"]
            product.disabled, product.show_hidden_initial = True, False
            product.widget = UnfoldAdminSelectWidget(choices=[(item.product_id, str(item.product))])
        label_inputs(self)


class _TagInput(CompletedInput, UnfoldAdminTextInputWidget):
    """A field of the admin that completes the names of tags."""


class SaleForm(ConcurrentEditForm):
    """A sale, with two fields that add all products of a tag at lower prices when the sale is saved."""

    tag = forms.CharField(label=_("Add products with the tag"), required=False, max_length=200, widget=_TagInput())
    percent = forms.DecimalField(
        label=_("Lower their prices by percent"),
        required=False,
        min_value=1,
        max_value=99,
        decimal_places=2,
        widget=UnfoldAdminDecimalFieldWidget(attrs={"step": "0.01"}),
        help_text=_("Products that the sale already has keep their prices."),
    )

    class Meta:
        model = Sale
        fields: tuple[str, ...] = ()

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "tag" in self.fields:
            self.fields["tag"].widget.names = list_frequent_tags()

    def clean(self) -> dict[str, Any]:
        """Find the tag. Refuse one of the two fields without the other, and tags of too many products."""
        cleaned = super().clean()
        name, percent = cleaned.get("tag"), cleaned.get("percent")
        if "percent" in self.errors or (not name and percent is None):
            return cleaned
        if not name or percent is None:
            self.add_error("tag", gettext("Enter both a tag and a percentage."))
            return cleaned
        tag = find_tag_named(name)
        if tag is None:
            self.add_error("tag", self._explain_missing_tag(name))
        elif find_products_to_add(self.instance.pk, tag)[: MAX_TAGGED_PRODUCTS + 1].count() > MAX_TAGGED_PRODUCTS:
            text = gettext("More than %(n)d products have this tag. Choose another one.")
            self.add_error("tag", text % {"n": MAX_TAGGED_PRODUCTS})
        elif free := find_products_made_free(self.instance.pk, tag, percent):
            text = gettext("These products would be free: %(titles)s")
            self.add_error("percent", text % {"titles": join_titles(free)})
        cleaned["tag"] = tag
        return cleaned

    def _explain_missing_tag(self, name: str) -> str:
        """Return the error about a tag that does not exist, with similar ones, and offer these first."""
        similar = suggest_tag_names(name)
        field = self.fields["tag"].widget
        field.names = list(dict.fromkeys([*similar, *field.names]))
        if not similar:
            return gettext("There is no tag called “%(name)s”.") % {"name": name}
        text = gettext("There is no tag called “%(name)s”. Similar tags: %(tags)s.")
        return text % {"name": name, "tags": ", ".join(similar)}


class ProductActionForm(ActionForm):
    """The form of list actions, with a number of copies and a change of prices. The actions report wrong texts."""

    price_change = forms.CharField(
        label="",
        required=False,
        widget=forms.TextInput(
            attrs={
                "aria-label": _("change of prices"),
                "class": FIELD_CLASSES,
                "x-show": "action",
            }
        ),
    )

    copies = forms.CharField(
        label="",
        required=False,
        widget=forms.NumberInput(
            attrs={
                "placeholder": _("copies"),
                "aria-label": _("copies"),
                "class": FIELD_CLASSES,
                "min": 1,
                "x-show": "action",
            }
        ),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        hint = gettext("+10%% or %(amount)s") % {"amount": get_example()}
        self.fields["price_change"].widget.attrs["placeholder"] = hint
