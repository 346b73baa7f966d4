"""The time zones of readers. Pages show times in the zone of their reader, and the day of a reading is a day there.

A stored page, which all visitors share, shows the zone of the site, and so does the admin.
"""

import zoneinfo
from collections import defaultdict
from functools import lru_cache

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Choices = list[tuple[str, "str | Promise"] | tuple[str, list[tuple[str, str]]]]


@lru_cache(maxsize=1)
def list_zones() -> frozenset[str]:
    """Return the names of the zones to choose from: those of places, such as "Europe/Berlin", and UTC."""
    places = (name for name in zoneinfo.available_timezones() if "/" in name)
    # Signs of the zones in "Etc" are reversed, and the others repeat places under names that are out of use.
    return frozenset(name for name in places if not name.startswith(("Etc/", "SystemV/", "US/"))) | {"UTC"}


def list_choices() -> Choices:
    """Return the zones for a form, grouped by continent, the zone of the site first."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in sorted(list_zones() - {"UTC"}):
        continent, _slash, place = name.partition("/")
        groups[continent].append((name, place.replace("_", " ")))
    return [("", _("the time zone of this site")), ("UTC", "UTC"), *groups.items()]


def activate_zone(name: str) -> None:
    """Show times of the current request in this zone; "": that of the site."""
    try:
        timezone.activate(zoneinfo.ZoneInfo(name) if name else timezone.get_default_timezone())
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):  # a name that the installed tables lack
        timezone.deactivate()
