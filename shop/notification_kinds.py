"""The kinds of notifications of this application, and what their pages show."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext_lazy as _

from accounts.notifications.kinds import Detail, Kind, register
from accounts.notifications.models import Way
from catalog.mirrors import BookMirror
from common.paths import make_path


def register_kinds() -> None:
    """Register the kinds."""
    register(
        Kind(
            "order",
            _("Your order is sent"),
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
            _("A book that you wait for is back in stock"),
            _("%(title)s is back in stock."),
            _find_books,
            has_people=False,
        )
    )


def _find_orders(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    """Return the details of a reader's own orders, which are the targets of no other reader's notifications."""
    return {pk: Detail(make_path("shop:order", pk), title=f"#{pk}") for pk in ids}


def _find_books(viewer: int, ids: Sequence[int]) -> Mapping[int, Detail]:
    books = BookMirror.get_many(ids)
    return {pk: Detail(make_path("catalog:book", pk), title=book["title"]) for pk, book in books.items()}
