"""An action that changes the prices of the selected products, after a preview of the old and new ones."""

from collections.abc import Sequence
from typing import Any, Final

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools import BigTableAdmin, Question, ask_for_confirmation, is_confirmed
from accounts.audit.log import log_each_change
from shop.admin.row_actions import UnchangedRow, warn_of_unchanged
from shop.models import Product
from shop.money import format_money
from shop.products.price_changes import PriceChange, get_example, parse_price_change, set_prices

MAX_PRICE: Final = 2**31 - 1  # of the column


class PriceChangeAdmin(BigTableAdmin):
    """Base of the admin of products."""

    @admin.action(description=_("Change prices of selected products"), permissions=["change"])
    def change_prices(self, request: HttpRequest, rows: QuerySet[Product]) -> HttpResponse | None:
        typed = request.POST.get("price_change", "")
        change = parse_price_change(typed)
        if change is None:
            text = gettext("Enter a change such as +10%% or %(amount)s next to the action.") % {"amount": get_example()}
            self.message_user(request, text, messages.WARNING)
            return None
        found = self.chosen(request, rows)
        if found and not is_confirmed(request):
            possible = [row for row in found if _is_possible(change, row)]
            why = gettext("the price would be too high, zero or negative")
            warn_of_unchanged(self, request, [UnchangedRow(row, why) for row in found if row not in possible])
            return self._ask(request, possible, change, typed) if possible else None
        # A product with another price than the preview showed stays as it is.
        shown = set(request.POST.get("shown", "").split())
        possible = [row for row in found if f"{row.pk}:{row.price}" in shown and _is_possible(change, row)]
        changed = set_prices({row.pk: (row.price, change.apply(row.price)) for row in possible})
        log_each_change(request, [(row, _describe(row, change)) for row in possible if row.pk in changed])
        text = ngettext("%(n)d price was changed.", "%(n)d prices were changed.", len(changed))
        self.done(request, text, len(changed))
        why = gettext("the price was changed meanwhile, or would be zero or negative")
        warn_of_unchanged(self, request, [UnchangedRow(row, why) for row in found if row.pk not in changed])
        return None

    def _ask(self, request: HttpRequest, found: Sequence[Product], change: PriceChange, typed: str) -> Any:
        """Return the preview."""
        shown = " ".join(f"{row.pk}:{row.price}" for row in found)
        question = Question(
            "change_prices",
            _("Change these prices?"),
            _("Orders and running sales keep their prices."),
            _("Change prices"),
            {"price_change": typed, "shown": shown},
        )
        return ask_for_confirmation(self, request, question, [(row, _describe(row, change)) for row in found])


def _is_possible(change: PriceChange, product: Product) -> bool:
    """Return whether the product has a price afterwards. Staff make a product free on its own page, one by one."""
    return 0 < change.apply(product.price) <= MAX_PRICE


def _describe(product: Product, change: PriceChange) -> str:
    new = change.apply(product.price)
    return f"{product}: {format_money(product.price)} → {format_money(new)}"
