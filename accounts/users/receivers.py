"""Count logins of all kinds."""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver

from accounts import services
from accounts.models import User


@receiver(user_logged_in, dispatch_uid="accounts.count_login")
def count_login(*, user: User, **kwargs: Any) -> None:
    """Count every login once: by the form, by registration, by the admin, or by another application."""
    services.record_login(user)
