"""The kinds of notifications of this application, and what their pages show."""

from collections.abc import Mapping, Sequence
from typing import Final

from django.utils.translation import gettext_lazy as _

from accounts.notifications.kinds import Detail, Kind, register
from accounts.notifications.models import Way
from catalog.mirrors import BookMirror
from common.paths import make_path
from shop.mirrors import ProductMirror
from shop.money import format_money

# Readers ask for it on the page of the book, and copies or a sale may be gone before their next visit.
ASKED_WAYS: Final = (Way.EMAIL, Way.WEEKLY, Way.SITE, Way.OFF)


def register_kinds() -> None:
    """Register the kinds."""
    register(
        Kind(
            "order",
            _("Your order has been sent"),
            _("Your order %(title)s was sent."),
            _find_orders,
            has_people=False,
            # The shop sends an email about each order itself.
            ways=(Way.SITE, Way.OFF),
        )
    )
    register(
        Kind(
            "stock",
            _("A book is back in stock"),
            _("%(title)s is back in stock."),
            _find_books,
            has_people=False,
            ways=ASKED_WAYS,
        )
    )
    register(
        Kind(
            "price",
            _("The price of a book drops"),
            _("The price of %(title)s has dropped."),
            _find_prices,
            has_people=False,
            ways=ASKED_WAYS,
        )
    )


def _find_orders(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the details of a reader's own orders, which are the targets of no other reader's notifications."""
    return {pk: Detail(make_path("shop:order", pk), title=f"#{pk}") for pk in ids}


def _find_books(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    books = BookMirror.get_many(ids)
    return {pk: Detail(make_path("catalog:book", pk), title=book["title"]) for pk, book in books.items()}


def _find_prices(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the details of books with their current prices."""
    details, products = _find_books(viewer, ids), ProductMirror.get_many(ids)
    return {
        pk: detail._replace(quote=format_money(products[pk].now.cents)) if pk in products else detail
        for pk, detail in details.items()
    }
