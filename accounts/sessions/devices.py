"""Turn a ``User-Agent`` header into a name such as "Firefox on Windows".

The name is only for display, because a client can send any header. The order of the tables matters: a browser's
header also names the browsers that it imitates.
"""

import re
from typing import Final

from django.utils.translation import gettext as _

MAX_DEVICE_NAME: Final = 200  # characters that are stored
MAX_EXAMINED: Final = 512  # characters of the header that are examined

BROWSERS: Final = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Opera", "Opera"),
    ("Vivaldi/", "Vivaldi"),
    ("YaBrowser/", "Yandex"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("MicroMessenger/", "WeChat"),
    ("UCBrowser/", "UC Browser"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("HeadlessChrome/", "Chrome"),
    ("Chromium/", "Chromium"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS: Final = (
    ("Windows", "Windows"),
    ("Android", "Android"),
    ("HarmonyOS", "HarmonyOS"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("CrOS", "ChromeOS"),
    ("Mac OS X", "macOS"),
    ("Macintosh", "macOS"),
    ("Linux", "Linux"),
    ("FreeBSD", "FreeBSD"),
)
_PROGRAM_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9._ -]{0,39}")  # "curl" of "curl/8.5.0"
SEPARATOR: Final = " on "


def parse_user_agent(user_agent: str) -> str:
    """Return a name for a browser: "Firefox on Windows", "Firefox", "curl"; "" if the header is not usable.

    The name has at most 200 characters: letters, digits, blanks and ``._-``.
    """
    header = user_agent[:MAX_EXAMINED]
    browser, system = _find_name(header, BROWSERS), _find_name(header, SYSTEMS)
    if browser and system:
        return f"{browser}{SEPARATOR}{system}"
    program = _PROGRAM_PATTERN.match(header)
    return (browser or system or (program[0].strip() if program else ""))[:MAX_DEVICE_NAME]


def _find_name(header: str, names: tuple[tuple[str, str], ...]) -> str:
    return next((name for sign, name in names if sign in header), "")


def describe_device(device: str) -> str:
    """Return the stored name of a device in the active language."""
    browser, on, system = device.partition(SEPARATOR)
    if not browser:
        return _("Unknown device")
    return _("%(browser)s on %(system)s") % {"browser": browser, "system": system} if on else browser
