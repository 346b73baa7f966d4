"""Tracking of parcels: the carriers of the settings, and links to their pages."""

from typing import Final, NamedTuple
from urllib.parse import quote

from django.conf import settings

NUMBER_PLACE: Final = "{number}"


class Tracking(NamedTuple):
    """A parcel on its way. carrier: a name of SHOP_CARRIERS, or "". number: its number at the carrier, or ""."""

    carrier: str = ""
    number: str = ""

    def __str__(self) -> str:
        return f"{self.carrier} {self.number}".strip()

    @property
    def link(self) -> str:
        """The carrier's page about the parcel, or "" without a number or for a carrier that the shop has left."""
        template = settings.SHOP_CARRIERS.get(self.carrier, "")
        if not self.number or not is_safe_link(template):
            return ""
        return template.replace(NUMBER_PLACE, quote(self.number, safe=""))


def is_safe_link(template: str) -> bool:
    """Return whether a carrier's link is encrypted and has a place for the number after its host."""
    scheme, _colon, rest = template.partition("://")
    host, _slash, path = rest.partition("/")
    return scheme == "https" and bool(host) and NUMBER_PLACE not in host and NUMBER_PLACE in path
