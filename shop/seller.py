"""The seller's details, which the law requires on pages and in emails. They come from the settings."""

from typing import NamedTuple

from django.conf import settings

from shop.addresses.countries import get_country_name


class Seller(NamedTuple):
    """The seller. address: its lines, with the country. vat_id, register: empty if the seller has none."""

    name: str
    address: tuple[str, ...]
    email: str
    phone: str
    vat_id: str
    register: str


def get_seller() -> Seller | None:
    """Return the seller, or None if the settings name none."""
    if not settings.SELLER_NAME:
        return None
    lines = [line.strip() for line in settings.SELLER_ADDRESS.split(";")]
    if settings.SELLER_COUNTRY:
        lines.append(get_country_name(settings.SELLER_COUNTRY))
    return Seller(
        settings.SELLER_NAME,
        tuple(filter(None, lines)),
        settings.SELLER_EMAIL,
        settings.SELLER_PHONE,
        settings.SELLER_VAT_ID,
        settings.SELLER_REGISTER,
    )
