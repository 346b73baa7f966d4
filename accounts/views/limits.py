"""Forms that may be sent so often only."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse

from accounts.lockout import counters_sql
from accounts.lockout import limits as lockout_limits
from accounts.lockout.limits import Counter
from accounts.lockout.models import FailedLogins
from accounts.names import fold
from accounts.ratelimit import allow, give_back


class Limit(NamedTuple):
    """At most ``most`` sendings in ``seconds`` by (or about) one ``subject``.

    is_kept: counted in SQL, so that the loss of Redis does not lift it. For what is expensive or hurts others.
    """

    name: str
    subject: object
    most: int
    seconds: int
    is_kept: bool = False

    def spend(self) -> int:
        """Count one. Returns 0, or the seconds to wait."""
        if self.is_kept:
            return math.ceil(counters_sql.reserve([self._counter]))
        return allow(self.name, self.subject, self.most, self.seconds)

    def give_back(self) -> None:
        """Take back what was counted just now."""
        if self.is_kept:
            counters_sql.give_back([self._counter])
        else:
            give_back(self.name, self.subject)

    @property
    def _counter(self) -> Counter:
        """Not told by name whose it is: only the key's hash is stored."""
        kind = lockout_limits.Limit(FailedLogins.Kind.FORM, self.most, self.seconds, own=False)
        return Counter(kind, "", "", f"{self.name}\0{self.subject}")


def letters_to(email: str) -> Limit:
    """Return the limit of letters with links to an address, whoever asks for them."""
    return Limit("email-change-to", fold(email.strip()), 5, 3600, is_kept=True)


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
        seconds = max([limit.spend() for limit in self.limits()])
        if not seconds:
            return super().post(request, *args, **kwargs)  # type: ignore[misc]
        given: dict[str, Any] = self.get_form_kwargs()  # type: ignore[attr-defined]
        given |= {"data": None, "files": None, "initial": {name: request.POST.get(name, "") for name in self.kept}}
        context = {"form": self.get_form_class()(**given), "wait": math.ceil(seconds / 60)}  # type: ignore[attr-defined]
        response: HttpResponse = self.render_to_response(self.get_context_data(**context), status=429)  # type: ignore[attr-defined]
        response["Retry-After"] = str(seconds)
        return response
