"""What happens whenever somebody logs in, by whatever way."""

from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.dispatch import receiver

from accounts import services
from accounts.models import User


@receiver(user_logged_in, dispatch_uid="accounts.count_login")
def count_login(*, user: User, **kwargs: Any) -> None:
    """Each way in counts once: the form, registration, the admin, another application's."""
    services.record_login(user)
