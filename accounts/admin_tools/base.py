"""Base classes for admin lists of big tables: no additions, actions on a limited number of rows."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.messages.storage import default_storage
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext

from accounts.admin_tools.changes import describe_changes, find_changed_forms
from accounts.admin_tools.links import PermittedLinks
from accounts.audit.log import log_rows
from common.database import repeat_after_conflict
from mirror.admin import PagedAdmin


class AuditedAdmin(PermittedLinks, PagedAdmin):
    """Base that also records deletions of several rows in the audit log, and limits the rows of an action."""

    max_selected: ClassVar[int] = 200  # rows that one action changes inside one request
    personal_fields: ClassVar[Collection[str]] = ()  # fields whose values no log keeps

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Add or change a row, in one transaction."""
        return _repeat_view(super().changeform_view, request, *args, **kwargs)

    def delete_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Delete a row, in one transaction."""
        return _repeat_view(super().delete_view, request, *args, **kwargs)

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Return the message of the log, with the old and new values of changed fields."""
        message: list[dict[str, Any]] = super().construct_change_message(request, form, formsets, add)
        if add:
            return message
        changes = [part["changed"] for part in message if "changed" in part]
        for change, changed_form in zip(changes, find_changed_forms(form, formsets), strict=True):
            change["fields"] = describe_changes(changed_form, self.personal_fields)
        return message

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[LogEntry]:
        """Record the deletion of each row."""
        return log_rows(request, queryset, DELETION)

    def chosen(self, request: HttpRequest, rows: QuerySet[Any]) -> list[Any]:
        """Return the selected rows. With too many of them, show a message and return an empty list."""
        found = list(rows.order_by("pk")[: self.max_selected + 1])
        if len(found) <= self.max_selected:
            return found
        text = gettext("Too many selected: choose at most %(n)d.") % {"n": self.max_selected}
        self.message_user(request, text, messages.ERROR)
        return []

    def done(self, request: HttpRequest, text: str, count: int, **values: Any) -> None:
        """Show the number of changed rows. values: further values of the text."""
        self.message_user(request, text % {"n": count, **values}, messages.SUCCESS if count else messages.WARNING)


@repeat_after_conflict
def _repeat_view(view: Callable[..., Any], request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
    """Call a view whose effects are one transaction and its messages."""
    if request.method == "POST":
        request._messages = default_storage(request)  # type: ignore[attr-defined]  # without those of a failed call
    return view(request, *args, **kwargs)


class BigTableAdmin(AuditedAdmin):
    """A list of a table that may have millions of rows, newest first. Rows are neither added nor edited."""

    ordering: ClassVar[Any] = ["-pk"]
    sortable_by: ClassVar[Any] = []

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions without Django's bulk deletion, which bypasses the services."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def log(self, request: HttpRequest, rows: Iterable[Model], flag: int, message: str) -> None:
        """Record an action on each of ``rows`` in the audit log."""
        log_rows(request, rows, flag, message)
