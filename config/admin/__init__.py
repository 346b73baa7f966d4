"""The home page of the admin: figures of all apps, each for staff with permission to see its rows.

Nothing is stored: every figure is computed for the request. Each number links to the list that it counts.
"""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.selectors import count_new_users
from common import clock
from config.admin import work
from config.admin.parts import Figure, Panel, Series, Tile, build_panel, format_count, link
from config.admin.periods import PERIODS, Period, join_days, query_days, read_period, start_of
from config.admin.sales import SalesFigures, build_orders
from loginlog.reports import dashboard
from loginlog.selectors import count_active
from mirror.admin import read_memory, read_overview

# The template needs another name. One called "admin/index.html" could not extend the original of the same name, since
# the template loaders would find it twice: its folder is both a template folder and an application's.
admin.site.index_template = "site/admin_index.html"


def add_figures(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Add the figures to the template context, for unfold's ``DASHBOARD_CALLBACK``."""
    today, may_see = timezone.localdate(clock.now()), request.user.has_perm
    period = read_period(request, today)
    tiles: list[Tile] = []
    panels: list[Panel] = []
    added: dict[str, Any] = {"tiles": tiles, "panels": panels}
    if may_see("shop.view_figures") or may_see("shop.view_order"):
        sales = SalesFigures(period, has_links=may_see("shop.view_order"))
        tiles.append(sales.build_tile())
        panels += sales.build_panels()
        added["top_books"] = sales.list_top_books(has_links=may_see("catalog.view_book"))
    if may_see("accounts.view_user"):
        _add_new_readers(period, tiles, panels)
    if may_see("loginlog.view_report"):
        tiles.append(_build_active_readers(period))
        shown = {"dashboard": dashboard.build_dashboard(today)}
        added["loginlog"] = render_to_string("loginlog/_dashboard.html", shown, request)
    if tiles:  # all tiles so far are about the period
        added |= {"period": period, "before": period.before(), "periods": PERIODS}
    tiles += _build_work(request)
    if may_see("mirror.view_state"):
        added |= {"mirrors": read_overview(), "memory": read_memory()}
    return context | added


def _build_work(request: HttpRequest) -> list[Tile]:
    """Return the tiles of open work."""
    may_see, today = request.user.has_perm, timezone.localdate(clock.now())
    builders = {
        "shop.view_order": build_orders,
        "shop.view_payment": lambda: work.build_payments(today),
        "shop.view_product": work.build_stock,
        "shop.view_cart": work.build_carts,
        "moderation.view_case": work.build_moderation,
        "catalog.view_book": lambda: work.build_catalogue(with_tags=may_see("catalog.view_tag")),
        "accounts.view_failedlogins": work.build_lockouts,
        "accounts.view_auditevent": lambda: work.build_audit_log(today),
    }
    return [build() for permission, build in builders.items() if may_see(permission)]


def _build_active_readers(period: Period) -> Tile:
    now, before = (count_active(None, part.first, part.last) for part in (period, period.before()))
    figure = Figure(_("logged in"), format_count(now), reverse("loginlog:active"), format_count(before))
    return Tile(_("Active readers"), [figure])


def _add_new_readers(period: Period, tiles: list[Tile], panels: list[Panel]) -> None:
    days, before = period.list_chart_days(), period.before()
    counts = count_new_users(start_of(min(days[0], before.first)))
    address = link("accounts_user", **period.query("date_joined"))
    texts = [format_count(period.sum_days(counts)), format_count(before.sum_days(counts))]
    tiles.append(Tile(_("New readers"), [Figure(_("joined"), texts[0], address, texts[1])]))
    numbers = join_days(days, counts)
    title = _("New readers by day, last %(count)d days") % {"count": len(days)}
    series = Series(
        days,
        numbers,
        [format_count(number) for number in numbers],
        lambda day: link("accounts_user", **query_days("date_joined", day, day)),
    )
    panels.append(build_panel("readers", title, _("Readers"), series))
