"""The base of the mirror's admin pages."""

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from django.contrib import messages
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from mirror.admin.paging import PagedAdmin
from mirror.admin.theme import display
from mirror.conf import setting


class ReadOnly(PagedAdmin):
    """Nothing can be added, edited or deleted. Actions are for users with permission to change the model."""

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Return whether the user may run actions."""
        options = self.model._meta
        return bool(request.user.has_perm(f"{options.app_label}.change_{options.model_name}"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).using(setting("DATABASE"))


class StatusAdmin(ReadOnly):
    """The declarations of one kind, one row each, with their status and actions that a relay carries out.

    column: the field with the name of a declaration. texts: the module that describes a status.
    """

    list_display_links: Any = None
    list_per_page = 1000  # all declarations
    column: ClassVar[str]
    texts: Any

    def find_names(self) -> list[str]:
        """Return the names of the declarations."""
        raise NotImplementedError

    def find_statuses(self) -> Iterable[Any]:
        """Return the status of each declaration."""
        raise NotImplementedError

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).filter(**{f"{self.column}__in": self.find_names()})

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the page of the list with the status of each row, fetched for all of them at once.

        Every declaration has a row, even if it has never been used.
        """
        names = self.find_names()
        changelist = super().get_changelist_instance(request)
        if changelist.result_count < len(names):
            states = self.model._base_manager.using(setting("DATABASE"))
            # Other requests may create them at the same time.
            states.bulk_create([self.model(**{self.column: name}) for name in names], ignore_conflicts=True)
            changelist = super().get_changelist_instance(request)
        statuses = {getattr(found, self.column): found for found in self.find_statuses()}
        for state in changelist.result_list:
            state.status = statuses[getattr(state, self.column)]
        return changelist

    @display(description=_("state"), label={"warm": "success", "cold": "warning", "unknown": "danger"})
    def warm(self, state: Any) -> tuple[str, str]:
        """Whether the data is complete, and the progress if not."""
        labels = {True: "warm", False: "cold", None: "unknown"}
        return labels[state.status.warm], self.texts.state(state.status)

    def send_tasks(self, request: HttpRequest, queryset: QuerySet[Any], send: Callable[[str], bool]) -> None:
        """Send a task for each row, and report whether the broker accepted it."""
        for name in queryset.values_list(self.column, flat=True):
            if send(name):
                text = gettext("%(name)s: requested; the result will appear here.") % {"name": name}
                self.message_user(request, text, messages.SUCCESS)
            else:
                text = gettext("%(name)s: the broker is not responding.") % {"name": name}
                self.message_user(request, text, messages.ERROR)
