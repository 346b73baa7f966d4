"""Forms that may be sent so often only."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse

from accounts.ratelimit import allow


class Limit(NamedTuple):
    """At most ``most`` sendings in ``seconds`` by (or about) one ``subject``."""

    name: str
    subject: object
    most: int
    seconds: int


class Limited(ABC):
    """Mixin for a FormView: counts before it looks at what was sent, so that nothing can be found out by trying.

    Over the limit the form comes back with ``wait``, the minutes until it may be sent again, and status 429.
    """

    request: HttpRequest
    kept: tuple[str, ...] = ()  # fields that keep what was typed

    @abstractmethod
    def limits(self) -> Iterable[Limit]:
        """The limits that this sending counts for."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        seconds = max([allow(*limit) for limit in self.limits()])
        if not seconds:
            return super().post(request, *args, **kwargs)  # type: ignore[misc]
        given: dict[str, Any] = self.get_form_kwargs()  # type: ignore[attr-defined]
        given |= {"data": None, "files": None, "initial": {name: request.POST.get(name, "") for name in self.kept}}
        context = {"form": self.get_form_class()(**given), "wait": math.ceil(seconds / 60)}  # type: ignore[attr-defined]
        response: HttpResponse = self.render_to_response(self.get_context_data(**context), status=429)  # type: ignore[attr-defined]
        response["Retry-After"] = str(seconds)
        return response
