"""System checks for settings of the login log."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from loginlog.days import MIN_DAYS_IN_REDIS


@register()
def check_expiry_days(**kwargs: Any) -> list[CheckMessage]:
    """Report an expiry that would remove days for which readers ask only Redis."""
    if settings.LOGINLOG_EXPIRE_DAYS >= MIN_DAYS_IN_REDIS:
        return []
    hint = f"The last {MIN_DAYS_IN_REDIS} days are read from Redis only."
    return [Error(f"LOGINLOG_EXPIRE_DAYS is less than {MIN_DAYS_IN_REDIS}.", hint=hint, id="loginlog.E001")]
