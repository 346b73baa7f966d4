"""Refuse addresses of the admin that its links never use."""

from collections.abc import Callable
from typing import Any

from django.contrib.admin.options import TO_FIELD_VAR
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse

from common.middleware.policy import ADMIN_PATH


class EmptyFieldNameMiddleware:
    """Middleware that answers 400 if an admin page is asked for a field with an empty name, at which Django fails."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_view(self, request: HttpRequest, *view: Any) -> None:
        """Check the parameter that Django reads as the name of a field."""
        is_admin = request.path_info.startswith(ADMIN_PATH)
        if is_admin and "" in (request.GET.get(TO_FIELD_VAR), request.POST.get(TO_FIELD_VAR)):
            raise BadRequest
