"""The names of methods of delivery. Staff choose them; the usual ones are shown in the reader's language."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from common.spacing import colon
from shop.addresses.countries import get_place_name

_KNOWN: Final[Mapping[str, Promise]] = {
    "Standard": pgettext_lazy("a method of delivery", "Standard"),
    "Express": pgettext_lazy("a method of delivery", "Express"),
    "International": pgettext_lazy("a method of delivery", "International"),
}


def translate_method(name: str, country: str = "") -> str:
    """Return the name of a method of delivery in the current language, if it is a usual one.

    Buyers read "International" as the standard delivery to the country, if its code is given.
    """
    if name == "International" and country:
        return _("Standard delivery to %(country)s") % {"country": get_place_name(country)}
    return str(_KNOWN.get(name, name))


def label_delivery(name: str, country: str) -> SafeString:
    """Return what stands before the price of a delivery: "Delivery: Express", or "Delivery to France"."""
    if name == "International" and country:
        return format_html("{}", _("Delivery to %(country)s") % {"country": get_place_name(country)})
    if not name:
        return format_html("{}", _("Delivery"))
    return format_html("{}{}<bdi>{}</bdi>", _("Delivery"), colon(), translate_method(name))
