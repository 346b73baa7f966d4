"""The clock of the shop and the login log. Tests replace it through ``settings.CLOCK``."""

from datetime import datetime

from django.conf import settings


def now() -> datetime:
    """Return the present moment, aware and in UTC."""
    return settings.CLOCK()
