"""Read-only admin pages for carts, views and recommendations."""

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from unfold.decorators import display

from accounts.models import User
from catalog.models import Book
from common.text import fold
from shop.admin.base import ReadOnlyAdmin
from shop.carts.rules import count_copies
from shop.models import Cart, Recommendation, StockAlert, View


def _load_titles(ids: Sequence[int]) -> dict[int, str]:
    return dict(Book.objects.filter(pk__in=ids).values_list("pk", "title"))


def _render_lines(words: Sequence[tuple[Any, ...]]) -> SafeString | str:
    """Return one line per item."""
    return format_html_join("", "<div>{}</div>", words) or "–"


class _SearchableByUser(ReadOnlyAdmin):
    """Rows that staff find by the name of their user."""

    # Without it the admin shows no search box.
    search_fields = ["pk"]
    search_help_text = _("the exact name of a user")
    list_select_related: Any = ["user"]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        term = search_term.strip().removeprefix("@")
        if not term:
            return queryset, False
        who = User.objects.filter(name_key=fold(term)).values_list("pk", flat=True).first()
        return queryset.filter(user=who or 0), False


@admin.register(Cart)
class CartAdmin(_SearchableByUser):
    """Carts, with their lines."""

    list_display = ["visitor", "user", "copies", "status"]
    list_filter = ["is_parked"]
    linked_lookups = ["user__id__exact"]  # the carts of one user
    fields = ["visitor", "user", "contents", "is_parked", "ended_at"]
    readonly_fields = fields

    @display(description=_("session"))
    def visitor(self, cart: Cart) -> str:
        return str(cart)

    @display(description=_("copies"))
    def copies(self, cart: Cart) -> int:
        return count_copies(cart.content)

    @display(description=_("contents"))
    def contents(self, cart: Cart) -> SafeString | str:
        lines = cart.content
        titles = _load_titles(list(lines))
        return _render_lines([(f"{line.quantity} × {titles.get(pk, pk)}",) for pk, line in sorted(lines.items())])

    @display(description=_("state"), label={"parked": "warning", "live": "success"})
    def status(self, cart: Cart) -> tuple[str, Any]:
        return ("parked", _("waiting for a login")) if cart.is_parked else ("live", _("in use"))


@admin.register(View)
class ViewAdmin(_SearchableByUser):
    """Views of books."""

    list_display = ["book", "by_visitor", "user", "seen_at"]
    list_select_related = ["user", "book"]
    fields = readonly_fields = ["book", "by_visitor", "user", "seen_at"]

    @display(description=_("visitor"))
    def by_visitor(self, view: View) -> str:
        return view.visitor[:12]


@admin.register(Recommendation)
class RecommendationAdmin(ReadOnlyAdmin):
    """The recommendations of a product, with their scores."""

    list_display = ["product", "bought_count", "viewbuy_count", "built_at"]
    search_fields = ["product__book__title"]
    ordering: ClassVar[Any] = ["-pk"]
    fields = ["product", "bought_list", "viewbuy_list", "built_at"]
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Recommendation]:
        return super().get_queryset(request).select_related("product__book")

    @display(description=_("also bought"))
    def bought_count(self, row: Recommendation) -> int:
        return len(row.bought)

    @display(description=_("bought after viewing"))
    def viewbuy_count(self, row: Recommendation) -> int:
        return len(row.viewbuy)

    @display(description=_("also bought"))
    def bought_list(self, row: Recommendation) -> SafeString | str:
        return self._others(row.bought)

    @display(description=_("bought after viewing"))
    def viewbuy_list(self, row: Recommendation) -> SafeString | str:
        return self._others(row.viewbuy)

    def _others(self, others: Sequence[Sequence[Any]]) -> SafeString | str:
        titles = _load_titles([pk for pk, *_rest in others])
        return _render_lines([(f"{score:.3g}  {titles.get(pk, pk)}",) for pk, score, *_why in others])


@admin.register(StockAlert)
class StockAlertAdmin(_SearchableByUser):
    """Books that readers wait for."""

    list_display = ["user", "product", "kind", "created_at", "back_at"]
    linked_lookups = ["product__exact"]
    list_select_related = ["user", "product__book"]
    fields = readonly_fields = list_display
