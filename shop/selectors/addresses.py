"""Addresses that readers saved, and the one that the checkout begins with."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AnonymousUser

from accounts.models import User
from shop.models import Order, SavedAddress


def list_addresses(user_id: int) -> list[SavedAddress]:
    """Return the addresses that a reader saved, the one that was used last first. One query."""
    return list(SavedAddress.objects.of_user(user_id)[: settings.SHOP_SAVED_ADDRESSES])


def find_address(user_id: int, address_id: int) -> SavedAddress | None:
    """Return one of a reader's addresses, or None."""
    return SavedAddress.objects.of_user(user_id).filter(pk=address_id).first()


def fill_form(row: SavedAddress) -> dict[str, Any]:
    """Return the initial values of a form with a saved address."""
    return {"name": row.name, "country": row.country, "phone": row.phone, **row.parts}


def get_initial_address(user: User | AnonymousUser, saved: SavedAddress | None) -> Mapping[str, Any]:
    """Return the initial values of the checkout: a saved address, else that of the last order.

    An order from the time of addresses in one text gives all of it as the street. One query, and another one
    without orders.
    """
    if not user.is_authenticated:
        return {"country": settings.SELLER_COUNTRY}
    last = Order.objects.of_user(user.pk).first()
    found: dict[str, Any] = {"country": settings.SELLER_COUNTRY, "email": last.email if last else user.email}
    if saved is not None:
        return found | fill_form(saved)
    if last is None:
        return found | {"name": user.username}
    found |= {"name": last.name, "phone": last.phone}
    return found | ({"country": last.country, **last.address_parts} if last.country else {"street": last.address})
