"""What templates say of people."""

from datetime import datetime

from django import template
from django.utils.timesince import timesince
from django.utils.timezone import now
from django.utils.translation import gettext as _

register = template.Library()


@register.filter
def ago(moment: datetime) -> str:
    """ "3 hours ago", by the largest unit alone; "just now" within a minute, and for clocks that differ."""
    if (now() - moment).total_seconds() < 60:
        return _("just now")
    return _("%(since)s ago") % {"since": timesince(moment, depth=1)}
