"""Template tags and filters for users."""

from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.timezone import now
from django.utils.translation import gettext as _

from accounts.names import make_public_path

register = template.Library()


@register.simple_tag
def person_link(name: str) -> SafeString:
    """Return a name as a link to the user's public page."""
    address = make_public_path(name)
    if not address:
        return format_html('<bdi class="name">{}</bdi>', name)
    return format_html('<a class="name" href="{}"><bdi>{}</bdi></a>', address, name)


@register.filter
def ago(moment: datetime) -> str:
    """Return the age of a time in its largest unit ("3 hours ago"); "just now" below a minute or in the future."""
    if (now() - moment).total_seconds() < 60:
        return _("just now")
    return _("%(since)s ago") % {"since": timesince(moment, depth=1)}
