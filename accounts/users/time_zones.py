"""The time zones of readers. Pages show times in the zone of their reader, and the day of a reading is a day there.

For readers who chose no zone, and on stored pages, which all visitors share, a script shows times in the zone of the
device (``common.template_functions.show_time``). The admin has the zone of the site.
"""

import zoneinfo
from collections import defaultdict
from collections.abc import Mapping
from datetime import tzinfo
from functools import lru_cache
from importlib.resources import files
from typing import Final

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Choices = list[tuple[str, "str | Promise"] | tuple[str, list[tuple[str, str]]]]

TABLES: Final = "tzdata.zoneinfo"  # the package with the tables of the time zone database


@lru_cache(maxsize=1)
def list_zones() -> frozenset[str]:
    """Return the names of the zones to choose from: that of each place in the database's own list.

    ``zoneinfo`` also knows names out of use, such as Asia/Calcutta, and does not tell which.
    """
    names = set()
    for line in _read_lines("zone.tab"):
        # Country, coordinates, name, and a comment.
        if not line.startswith("#"):
            names.add(line.split("\t")[2].strip())
    return frozenset(names & zoneinfo.available_timezones())


@lru_cache(maxsize=1)
def _read_links() -> Mapping[str, str]:
    """Return the zones that other names stand for."""
    links = {}
    for line in _read_lines("tzdata.zi"):
        if line.startswith("L "):
            _mark, zone, name = line.split()
            links[name] = zone
    return links


def _read_lines(name: str) -> list[str]:
    return files(TABLES).joinpath(name).read_text(encoding="utf-8").splitlines()


def find_present_name(name: str) -> str:
    """Return the zone of ``list_zones`` that a name out of use stands for, and any other name unchanged.

    >>> find_present_name("Asia/Calcutta"), find_present_name("Europe/Oslo")
    ('Asia/Kolkata', 'Europe/Oslo')
    """
    found = name
    # A link may lead to another one. None leads to itself.
    while found not in list_zones() and found in _read_links():
        found = _read_links()[found]
    return found if found in list_zones() else name


def list_choices() -> Choices:
    """Return the zones for a form, grouped by continent. The first choice is none."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name in sorted(list_zones()):
        continent, _slash, place = name.partition("/")
        groups[continent].append((name, place.replace("_", " ")))
    return [("", _("Automatic, from my device")), *groups.items()]


def find_zone(name: str) -> tzinfo:
    """Return the zone with this name; that of the site for "", and for a name that the installed tables lack."""
    try:
        return zoneinfo.ZoneInfo(name) if name else timezone.get_default_timezone()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return timezone.get_default_timezone()


def activate_zone(name: str) -> None:
    """Show times of the current request in the zone with this name."""
    timezone.activate(find_zone(name))
