"""Revenue, orders and top books of a period. Those who may not see orders get the figures without links."""

from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from config.admin.parts import Figure, Panel, Series, Tile, build_panel, format_count, link
from config.admin.periods import Period, end_of, join_days, query_days, start_of
from shop.money import format_money, to_units
from shop.selectors import figures as shop
from shop.selectors.figures import SalesByDay


class BookRow(NamedTuple):
    """A line of the table of top books. address: of the book's page in the admin, or ""."""

    title: str
    copies: str
    income: str
    address: str


class SalesFigures:
    """The figures of sales of a period. has_links: whether the reader of the page may see orders."""

    def __init__(self, period: Period, *, has_links: bool) -> None:
        self.period = period
        self.has_links = has_links
        self.days = period.list_chart_days()
        since = min(period.before().first, self.days[0])
        self.sales: SalesByDay = shop.read_sales_by_day(start_of(since))

    def build_tile(self) -> Tile:
        """Return revenue, refunds, orders and the average order, each beside the period before."""
        now, before, sales = self.period, self.period.before(), self.sales
        figures = [
            Figure(_("revenue"), self._format_revenue(now), self._link_income(now), self._format_revenue(before)),
            Figure(
                _("paid orders"),
                format_count(now.sum_days(sales.orders)),
                self._link_paid(now),
                format_count(before.sum_days(sales.orders)),
            ),
            Figure(_("average order"), self._format_average(now), "", self._format_average(before)),
        ]
        refunds, refunds_before = now.sum_days(sales.refunds), before.sum_days(sales.refunds)
        if refunds or refunds_before:
            address = self._link_refunded(now)
            figures.append(Figure(_("refunded"), format_money(refunds), address, format_money(refunds_before)))
        return Tile(pgettext("revenue of a shop", "Sales"), figures)

    def build_panels(self) -> list[Panel]:
        """Return the charts of revenue and of orders."""
        days, sales = self.days, self.sales
        income, refunds = join_days(days, sales.income), join_days(days, sales.refunds)
        revenue = [cents - refunded for cents, refunded in zip(income, refunds, strict=True)]
        units = [int(to_units(cents)) for cents in revenue]
        texts = [_describe_revenue(*amounts) for amounts in zip(revenue, refunds, strict=True)]
        orders = join_days(days, sales.orders)
        counts = [format_count(number) for number in orders]
        count = {"count": len(days)}
        return [
            build_panel(
                "revenue",
                _("Revenue by day, last %(count)d days") % count,
                _("Revenue"),
                Series(days, units, texts, self._link_income_of_day),
            ),
            build_panel(
                "orders",
                _("Paid orders by day, last %(count)d days") % count,
                _("Orders"),
                Series(days, orders, counts, self._link_paid_of_day),
            ),
        ]

    def list_top_books(self, *, has_links: bool) -> Sequence[BookRow]:
        """Return the books of which most copies were sold."""
        found = shop.find_top_books(start_of(self.period.first), end_of(self.period.last))
        return [
            BookRow(
                book.title,
                format_count(book.copies),
                format_money(book.income),
                reverse("admin:catalog_book_change", args=[book.pk]) if has_links else "",
            )
            for book in found
        ]

    def _format_revenue(self, period: Period) -> str:
        return format_money(period.sum_days(self.sales.income) - period.sum_days(self.sales.refunds))

    def _format_average(self, period: Period) -> str:
        """Return the average of the paid orders after their refunds, as the revenue is."""
        count = period.sum_days(self.sales.orders)
        return format_money(round(period.sum_days(self.sales.kept_income) / count)) if count else "–"

    def _link_income(self, period: Period) -> str:
        """Link to all orders that were paid in a period, also those that were cancelled later."""
        return self._link(**period.query("paid_at"))

    def _link_income_of_day(self, day: date) -> str:
        return self._link(**query_days("paid_at", day, day))

    def _link_paid(self, period: Period) -> str:
        return self._link(state__in=",".join(shop.KEPT_STATES), **period.query("paid_at"))

    def _link_paid_of_day(self, day: date) -> str:
        return self._link(state__in=",".join(shop.KEPT_STATES), **query_days("paid_at", day, day))

    def _link_refunded(self, period: Period) -> str:
        """Link to the orders that were refunded in a period, without refunds of payments that paid for nothing."""
        return self._link(payments__state="succeeded", **period.query("payments__refunds__done_at"))

    def _link(self, **query: str) -> str:
        return link("shop_order", **query) if self.has_links else ""


def build_orders() -> Tile:
    """Return the numbers of orders to ship, of returns to answer, and of returned books that are on their way."""
    asked, accepted = shop.count_open_returns()
    figures = [
        Figure(_("to ship"), shop.count_orders_to_ship(), link("shop_order", state__exact="paid")),
        Figure(_("returns to answer"), asked, link("shop_return", state__exact="asked")),
        Figure(_("returns to receive"), accepted, link("shop_return", state__exact="accepted")),
    ]
    return Tile(_("Orders"), figures, "amber" if figures[0].value or asked else "")


def _describe_revenue(revenue: int, refunds: int) -> str:
    amount = format_money(revenue)
    if not refunds:
        return amount
    return _("%(revenue)s after refunds of %(refunds)s") % {"revenue": amount, "refunds": format_money(refunds)}
