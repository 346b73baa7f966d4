"""The backend that goes before those who know users."""

from typing import Any

from axes.backends import AxesStandaloneBackend
from django.http import HttpRequest


class Backend(AxesStandaloneBackend):
    """Refuses a try that is not to be made; code that logs in without a request is nobody at a form."""

    def authenticate(
        self, request: HttpRequest | None, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> None:
        """Raises PermissionDenied, which ends ``django.contrib.auth.authenticate``."""
        if request is not None:
            super().authenticate(request, username, password, **kwargs)
