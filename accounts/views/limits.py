"""Rate limits for forms."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.http import HttpRequest, HttpResponse

from accounts.lockout import counters_sql
from accounts.lockout import limits as lockout_limits
from accounts.lockout.limits import Counter
from accounts.lockout.models import FailedLogins
from accounts.ratelimit import count_event, give_back
from common.text import fold_address


class FormLimit(NamedTuple):
    """A limit of ``most`` submissions in ``seconds`` by or about one ``subject``.

    is_kept: counted in SQL, so that a loss of Redis does not reset it; for actions that are expensive or harm others.
    """

    name: str
    subject: object
    most: int
    seconds: int
    is_kept: bool = False

    def count_submission(self) -> int:
        """Count one submission. Return 0, or the seconds to wait."""
        if self.is_kept:
            return math.ceil(counters_sql.reserve([self._counter]))
        return count_event(self.name, self.subject, self.most, self.seconds)

    def give_back(self) -> None:
        """Undo the last count."""
        if self.is_kept:
            counters_sql.give_back([self._counter])
        else:
            give_back(self.name, self.subject)

    @property
    def _counter(self) -> Counter:
        """Return the counter in SQL, which stores only a hash of the subject."""
        kind = lockout_limits.Limit(FailedLogins.Kind.FORM, self.most, self.seconds, own=False)
        return Counter(kind, "", "", f"{self.name}\0{self.subject}")


def make_link_limit(email: str) -> FormLimit:
    """Return the limit on emails with links to one address, for requests of all users together."""
    return FormLimit("email-change-to", fold_address(email.strip()), 5, 3600, is_kept=True)


class LimitedFormMixin(ABC):
    """Mixin for a FormView that counts each submission before validation, so that probing is limited as well.

    Over the limit, the form is shown again with status 429 and ``wait``, the minutes until the next submission.
    """

    request: HttpRequest
    kept: tuple[str, ...] = ()  # fields that keep their value over the limit

    @abstractmethod
    def limits(self) -> Iterable[FormLimit]:
        """Return the limits that apply to this submission."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # A list: every limit counts, also after one that is exceeded.
        seconds = max([limit.count_submission() for limit in self.limits()])
        if not seconds:
            return super().post(request, *args, **kwargs)  # type: ignore[misc]
        given: dict[str, Any] = self.get_form_kwargs()  # type: ignore[attr-defined]
        given |= {"data": None, "files": None, "initial": {name: request.POST.get(name, "") for name in self.kept}}
        context = {"form": self.get_form_class()(**given), "wait": math.ceil(seconds / 60)}  # type: ignore[attr-defined]
        response: HttpResponse = self.render_to_response(self.get_context_data(**context), status=429)  # type: ignore[attr-defined]
        response["Retry-After"] = str(seconds)
        return response
