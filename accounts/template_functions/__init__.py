"""Functions and filters of templates: people."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.timezone import now
from django.utils.translation import get_language, pgettext
from django.utils.translation import gettext as _

from accounts.names import make_public_path
from accounts.passwords.advice import find_min_length
from common.public_pages import limit_life
from common.rendered import remember_rendered
from common.template_functions import format_number

MAX_AGES: Final = 4096  # texts
MAX_BYTES: Final = 1_000_000  # of remembered rows; each takes about 500 bytes


def person_link(name: str) -> SafeString:
    """Return a name as a link to the user's public page."""
    address = make_public_path(name)
    if not address:
        return format_html('<bdi class="name">{}</bdi>', name)
    return format_html('<a class="name" href="{}"><bdi>{}</bdi></a>', address, name)


def ago(moment: datetime) -> str:
    """Return the age of a time in its largest unit ("3 hours ago"); "just now" below a minute or in the future."""
    minutes = int((now() - moment).total_seconds() // 60)
    limit_life(60.0)
    if minutes < 1:
        return _("just now")
    return _describe_age(moment, minutes, get_language())


@lru_cache(maxsize=MAX_AGES)
def _describe_age(moment: datetime, minutes: int, language: str | None) -> str:
    """Return an age in words, as ago.js writes it. ``language`` must be the active language."""
    return _("%(since)s ago") % {"since": timesince(moment, moment + timedelta(minutes=minutes), depth=1)}


def ordinal(number: int) -> str:
    """Return a rank in words: "1st", "22nd", "1,113th"."""
    match 0 if number % 100 in (11, 12, 13) else number % 10:
        case 1:
            words = pgettext("a rank", "%(n)sst")
        case 2:
            words = pgettext("a rank", "%(n)snd")
        case 3:
            words = pgettext("a rank", "%(n)srd")
        case _:
            words = pgettext("a rank", "%(n)sth")
    return words % {"n": format_number(number, "0g")}


@remember_rendered(MAX_BYTES)
def ranking_row(
    rank: int, user_id: int, name: str, picture: str, login_times: int, share: int, is_me: bool
) -> SafeString:
    """Return a row of the leaderboard. share: the percentage of the logins of the table's first reader."""
    reader = {"id": user_id, "name": name, "picture": picture, "is_me": is_me}
    shown = reader | {"rank": rank, "login_times": login_times, "share": share}
    return render_to_string("accounts/_ranking_row.html", shown)


@remember_rendered(MAX_BYTES)
def last_login(user_id: int, name: str, picture: str, time: datetime, age: str) -> SafeString:
    """Return a reader with the time and the age of the last login."""
    shown = {"id": user_id, "name": name, "picture": picture, "time": time, "age": age}
    return render_to_string("accounts/_last_login.html", shown)


FUNCTIONS: Final[Mapping[str, Any]] = {
    "last_login": last_login,
    "min_password_length": find_min_length,
    "ordinal": ordinal,
    "person_link": person_link,
    "ranking_row": ranking_row,
}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {"ago": ago, "public_path": make_public_path}
