"""Functions and filters of templates: people."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.timezone import now
from django.utils.translation import gettext as _

from accounts.names import make_public_path


def person_link(name: str) -> SafeString:
    """Return a name as a link to the user's public page."""
    address = make_public_path(name)
    if not address:
        return format_html('<bdi class="name">{}</bdi>', name)
    return format_html('<a class="name" href="{}"><bdi>{}</bdi></a>', address, name)


def ago(moment: datetime) -> str:
    """Return the age of a time in its largest unit ("3 hours ago"); "just now" below a minute or in the future."""
    if (now() - moment).total_seconds() < 60:
        return _("just now")
    return _("%(since)s ago") % {"since": timesince(moment, depth=1)}


FUNCTIONS: Final[Mapping[str, Any]] = {"person_link": person_link}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {"ago": ago}
