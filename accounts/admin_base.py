"""What lists of big tables in the admin have in common: bounded counts, nothing added, actions on a few rows."""

from collections.abc import Iterable
from typing import Any, ClassVar, Final

from django.contrib import messages
from django.contrib.admin.models import DELETION, LogEntry
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from unfold.admin import ModelAdmin

from accounts.admin_lists import BoundedPaginator
from accounts.audit.log import log_rows

AT_ONCE: Final = 200  # rows that one action changes, while somebody waits


class Audited(ModelAdmin):
    """Deletions of several rows at once are in the audit log as well."""

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[LogEntry]:
        """Note the deletion of each row."""
        return log_rows(request, queryset, DELETION)


class Bounded(Audited):
    """A list of a table that may have millions of rows, newest first; nothing is added or edited."""

    list_per_page = 50
    paginator: Any = BoundedPaginator
    show_full_result_count = False
    ordering: ClassVar[Any] = ["-pk"]
    sortable_by: ClassVar[Any] = []

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Without Django's own way to delete, which is not by the services."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def chosen(self, request: HttpRequest, rows: QuerySet[Any]) -> list[Any]:
        """The rows that were chosen; none (and a message) when they are too many."""
        found = list(rows.order_by("pk")[: AT_ONCE + 1])
        if len(found) <= AT_ONCE:
            return found
        text = gettext("These are too many at once: choose %(n)d at most.") % {"n": AT_ONCE}
        self.message_user(request, text, messages.ERROR)
        return []

    def log(self, request: HttpRequest, rows: Iterable[Model], flag: int, said: str) -> None:
        """Note what is done to each of ``rows``."""
        log_rows(request, rows, flag, said)

    def done(self, request: HttpRequest, text: str, count: int) -> None:
        """Say how many rows it was."""
        self.message_user(request, text % {"n": count}, messages.SUCCESS if count else messages.WARNING)
