"""The home page of the admin: figures of all apps, each for staff with permission to see its rows.

Nothing is stored: every figure is computed for the request. Each number links to the list that it counts.
"""

from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format, number_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from accounts.selectors import count_new_users
from common import clock
from loginlog.reports import chart, dashboard
from loginlog.reports.chart import Chart
from loginlog.selectors import count_active
from mirror.admin import read_memory, read_overview
from shop.money import format_money, to_units
from shop.selectors import figures as shop
from social.moderation.selectors import count_open_work

CHART_DAYS: Final = 30
PROBLEM_DAYS: Final = 7
FORMAT: Final = "%Y-%m-%d %H:%M:%S%z"
# The template needs another name. One called "admin/index.html" could not extend the original of the same name, since
# the template loaders would find it twice: its folder is both a template folder and an application's.
admin.site.index_template = "site/admin_index.html"


class Figure(NamedTuple):
    """A number and the list behind it."""

    label: str
    value: Any
    address: str


class Tile(NamedTuple):
    """Numbers about one subject. level: "amber" if staff have something to do."""

    title: str
    figures: Sequence[Figure]
    level: str = ""


class Row(NamedTuple):
    """A day in the table beside a chart."""

    day: date
    value: str
    address: str


class Panel(NamedTuple):
    """A chart of days with its table. unit: the heading of the numbers."""

    id: str
    title: str
    unit: str
    chart: Chart
    rows: Sequence[Row]

    def render(self) -> SafeString:
        """Return the chart and its table."""
        shown = {"chart": self.chart, "rows": self.rows, "heading": self.unit, "table_id": f"{self.id}-table"}
        return render_to_string("loginlog/_chart_and_table.html", shown)


def add_figures(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the figures to the template context, for unfold's ``DASHBOARD_CALLBACK``."""
    today, may_see = timezone.localdate(clock.now()), request.user.has_perm
    days = [today - timedelta(days=n) for n in reversed(range(CHART_DAYS))]
    tiles: list[Tile] = []
    panels: list[Panel] = []
    if may_see("shop.view_order"):
        _add_orders(days, tiles, panels)
    if may_see("shop.view_payment"):
        tiles.append(_build_payments(today))
    if may_see("shop.view_product"):
        tiles.append(_build_stock())
    if may_see("moderation.view_case"):
        tiles.append(_build_moderation())
    if may_see("accounts.view_user"):
        _add_new_readers(days, tiles, panels)
    if may_see("loginlog.view_report"):
        active = Figure(_("active today"), count_active(None, today, today), reverse("loginlog:active"))
        tiles.append(Tile(_("Active readers"), [active]))
        shown = {"dashboard": dashboard.build_dashboard(today)}
        context = context | {"loginlog": render_to_string("loginlog/_dashboard.html", shown, request)}
    if not tiles and may_see("catalog.view_book"):  # of staff who have no figures
        tiles.append(_build_catalogue(may_see("catalog.view_tag")))
    if may_see("mirror.view_state"):
        context = context | {"mirrors": read_overview(), "memory": read_memory()}
    return context | {"tiles": tiles, "panels": panels}


def _add_orders(days: Sequence[date], tiles: list[Tile], panels: list[Panel]) -> None:
    found = shop.read_sales_by_day(_start_of(days[0]))
    income, refunds, orders = (
        [pick.get(day, 0) for day in days] for pick in (found.income, found.refunds, found.orders)
    )
    revenue = [cents - refunded for cents, refunded in zip(income, refunds, strict=True)]
    figures = [
        Figure(_("revenue"), format_money(revenue[-1]), _link_to_income(days[-1])),
        Figure(_("paid orders"), orders[-1], _link_to_paid_orders(days[-1])),
    ]
    if refunds[-1]:
        figures.append(Figure(_("refunded"), format_money(refunds[-1]), _link_to_refunded_orders(days[-1])))
    tiles.append(Tile(_("Sales today"), figures))
    to_ship = Figure(_("to ship"), shop.count_orders_to_ship(), _link("shop_order", state__exact="paid"))
    tiles.append(Tile(_("Orders"), [to_ship], "amber" if to_ship.value else ""))
    units = [int(to_units(cents)) for cents in revenue]
    title = _("Revenue by day, last %(count)d days") % {"count": len(days)}
    texts = [_describe_revenue(*amounts) for amounts in zip(revenue, refunds, strict=True)]
    panels.append(_build_panel("revenue", title, _("Revenue"), days, units, texts, _link_to_income))
    title = _("Paid orders by day, last %(count)d days") % {"count": len(days)}
    texts = [_format(number) for number in orders]
    panels.append(_build_panel("orders", title, _("Orders"), days, orders, texts, _link_to_paid_orders))


def _describe_revenue(revenue: int, refunds: int) -> str:
    amount = format_money(revenue)
    if not refunds:
        return amount
    return _("%(revenue)s after refunds of %(refunds)s") % {"revenue": amount, "refunds": format_money(refunds)}


def _build_payments(today: date) -> Tile:
    since = _start_of(today - timedelta(days=PROBLEM_DAYS - 1))
    problems = shop.count_payment_problems(since)
    figures = [
        Figure(
            _("failed in %(days)d days") % {"days": PROBLEM_DAYS},
            problems.failed,
            _link("shop_payment", state__exact="failed", updated_at__gte=since.strftime(FORMAT)),
        ),
        Figure(_("without an answer"), problems.open, _link("shop_payment", state__exact="started")),
        Figure(_("to be refunded"), problems.refunds, _link("shop_payment", refund_due__gt="0")),
    ]
    return Tile(_("Payment problems"), figures, "amber" if problems.failed or problems.refunds else "")


def _build_stock() -> Tile:
    few, none = shop.count_low_stock()
    figures = [
        Figure(_("sold out"), none, _link("shop_product", is_active__exact="1", left="none")),
        Figure(_("a few left"), few, _link("shop_product", is_active__exact="1", left="few")),
    ]
    return Tile(_("Low stock"), figures, "amber" if none else "")


def _build_moderation() -> Tile:
    work = count_open_work()
    figures = [
        Figure(_("open cases"), work.cases, reverse("admin:moderation_case_changelist")),
        Figure(_("open appeals"), work.appeals, reverse("admin:moderation_appeal_changelist")),
    ]
    return Tile(_("Moderation"), figures, "amber" if work.cases or work.appeals else "")


def _build_catalogue(with_tags: bool) -> Tile:
    """Return links without numbers: these rows have no index, and counting them would read the whole table."""
    figures = [Figure(_("books without a year"), "→", _link("catalog_book", years="unknown"))]
    if with_tags:
        figures.append(Figure(_("hidden tags"), "→", _link("catalog_tag", hidden__exact="1")))
    return Tile(_("Catalogue"), figures)


def _add_new_readers(days: Sequence[date], tiles: list[Tile], panels: list[Panel]) -> None:
    counts = count_new_users(_start_of(days[0]))
    numbers = [counts.get(day, 0) for day in days]
    tiles.append(Tile(_("New readers"), [Figure(_("today"), numbers[-1], _link_to_new_readers(days[-1]))]))
    title = _("New readers by day, last %(count)d days") % {"count": len(days)}
    texts = [_format(number) for number in numbers]
    panels.append(_build_panel("readers", title, _("Readers"), days, numbers, texts, _link_to_new_readers))


def _build_panel(
    name: str,
    title: str,
    unit: str,
    days: Sequence[date],
    numbers: Sequence[int],
    texts: Sequence[str],
    link: Callable[[date], str],
) -> Panel:
    titles = [f"{date_format(day)}: {text}" for day, text in zip(days, texts, strict=True)]
    drawn = chart.draw_chart(days, [("dau", numbers)], name=f"{title}: {titles[-1]}", titles=titles)
    rows = [Row(day, text, link(day)) for day, text in zip(days, texts, strict=True)]
    return Panel(f"home-{name}", title, unit, drawn, rows[::-1])


def _start_of(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time()))


def _link(page: str, **query: str) -> str:
    return f"{reverse(f'admin:{page}_changelist')}?{urlencode(query)}"


def _link_to_income(day: date) -> str:
    """Link to all orders that were paid on a day, also those that were cancelled later."""
    return _link("shop_order", **_query_day("paid_at", day))


def _link_to_paid_orders(day: date) -> str:
    return _link("shop_order", state__in="paid,sent", **_query_day("paid_at", day))


def _link_to_refunded_orders(day: date) -> str:
    """Link to the orders that were refunded on a day, without refunds of payments that paid for nothing."""
    return _link("shop_order", payments__state="succeeded", **_query_day("payments__refunds__done_at", day))


def _link_to_new_readers(day: date) -> str:
    return _link("accounts_user", **_query_day("date_joined", day))


def _query_day(column: str, day: date) -> dict[str, str]:
    ends = _start_of(day), _start_of(day + timedelta(days=1))
    return {f"{column}__{side}": end.strftime(FORMAT) for side, end in zip(("gte", "lt"), ends, strict=True)}


def _format(number: int) -> str:
    return number_format(number, force_grouping=True)
