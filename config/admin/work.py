"""Tiles of open work: payments, stock, cases, wishes, carts, lock-outs and the audit log."""

from datetime import date, timedelta
from typing import Final

from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.audit.selectors import count_events
from accounts.lockout.selectors import count_lockouts
from catalog.models import Book, Tag
from catalog.wishes.selectors import count_open_wishes
from config.admin.parts import Figure, Tile, link
from config.admin.periods import FORMAT, start_of
from mirror.admin import count_rows
from shop.selectors import figures as shop
from social.moderation.selectors import count_open_work

PROBLEM_DAYS: Final = 7


def build_payments(today: date) -> Tile:
    """Return the numbers of payments that failed or wait."""
    since = start_of(today - timedelta(days=PROBLEM_DAYS - 1))
    problems = shop.count_payment_problems(since)
    figures = [
        Figure(
            _("failed in %(days)d days") % {"days": PROBLEM_DAYS},
            problems.failed,
            link("shop_payment", state__exact="failed", updated_at__gte=since.strftime(FORMAT)),
        ),
        Figure(_("without an answer"), problems.open, link("shop_payment", state__exact="started")),
        Figure(_("to be refunded"), problems.refunds, link("shop_payment", refund_due__gt="0")),
    ]
    return Tile(_("Payment problems"), figures, "amber" if problems.failed or problems.refunds else "")


def build_stock() -> Tile:
    """Return the numbers of products that are sold out or nearly so."""
    few, none = shop.count_low_stock()
    figures = [
        Figure(_("sold out"), none, link("shop_product", is_active__exact="1", left="none")),
        Figure(_("a few left"), few, link("shop_product", is_active__exact="1", left="few")),
    ]
    return Tile(_("Low stock"), figures, "amber" if none else "")


def build_carts() -> Tile:
    """Return the number of carts."""
    return Tile(_("Carts"), [Figure(_("of visitors and readers"), shop.count_carts(), link("shop_cart"))])


def build_moderation() -> Tile:
    """Return the numbers of open cases and appeals."""
    work = count_open_work()
    figures = [
        Figure(_("open cases"), work.cases, reverse("admin:moderation_case_changelist")),
        Figure(_("open appeals"), work.appeals, reverse("admin:moderation_appeal_changelist")),
    ]
    return Tile(_("Moderation"), figures, "amber" if work.cases or work.appeals else "")


def build_catalogue(*, with_tags: bool) -> Tile:
    """Return the numbers of open wishes, of books without a year and of hidden tags."""
    wishes = count_open_wishes()
    figures = [
        Figure(_("open wishes"), wishes, link("wishes_bookwish", state__exact="open")),
        Figure(
            _("books without a year"), count_rows(Book.objects.filter(year=None)), link("catalog_book", years="unknown")
        ),
    ]
    if with_tags:
        hidden = count_rows(Tag.objects.filter(hidden=True))
        figures.append(Figure(_("hidden tags"), hidden, link("catalog_tag", hidden__exact="1")))
    return Tile(_("Catalogue"), figures, "amber" if wishes else "")


def build_lockouts() -> Tile:
    """Return the number of counters that refuse logins now."""
    return Tile(
        _("Failed logins"), [Figure(_("locked out"), count_lockouts(), link("accounts_failedlogins", locked="yes"))]
    )


def build_audit_log(today: date) -> Tile:
    """Return the number of today's events in the audit log."""
    since = start_of(today)
    address = link("accounts_auditevent", at__gte=since.strftime(FORMAT))
    return Tile(_("Audit log"), [Figure(_("events today"), count_events(since), address)])
