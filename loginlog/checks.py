"""System checks for settings of the login log."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from loginlog.days import LEAST_DAYS


@register()
def check_days(**kwargs: Any) -> list[CheckMessage]:
    """Report an expiry that would remove days for which readers ask only Redis."""
    if settings.LOGINLOG_EXPIRE_DAYS >= LEAST_DAYS:
        return []
    hint = f"The last {LEAST_DAYS} days are read from Redis only."
    return [Error(f"LOGINLOG_EXPIRE_DAYS is less than {LEAST_DAYS}.", hint=hint, id="loginlog.E001")]
