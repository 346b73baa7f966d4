"""The present moment, as the shop and the login log see it: tests choose it by ``settings.CLOCK``."""

from datetime import datetime

from django.conf import settings


def now() -> datetime:
    """Return the present moment, aware and in UTC."""
    return settings.CLOCK()
