"""Sessions in the admin. Deleting one ends it."""

from datetime import UTC, datetime
from typing import Any

from django.contrib import admin
from django.contrib.admin.models import DELETION
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from unfold.decorators import display

from accounts.admin_tools.base import AuditedAdmin
from accounts.admin_tools.staff import exclude_guarded, may_change_account
from accounts.audit.log import log_rows
from accounts.models import Session
from accounts.sessions import last_seen
from accounts.sessions.devices import describe_device
from accounts.sessions.listing import make_handle
from accounts.sessions.services import SESSIONS_PER_TRANSACTION, end_by_digest


class LimitedActionsAdmin(AuditedAdmin):
    """Base for lists with actions that run inside a request, so they are limited to a number of rows."""

    max_selected = 1000

    def _report_ended_sessions(self, request: HttpRequest, count: int) -> None:
        text = ngettext("%(n)d session was ended.", "%(n)d sessions were ended.", count)
        self.done(request, text, count)


@admin.register(Session)
class SessionAdmin(LimitedActionsAdmin):
    """Sessions of all users. Deleting a session here ends it."""

    actions = ["end_selected"]

    list_display = ["short", "user", "where", "created_at", "seen_at"]
    list_select_related = ["user", "last_seen"]
    search_fields = ["=user__username"]
    search_help_text = _("the exact name")
    linked_lookups = ["user__id__exact"]  # the number of sessions on a user's page
    fields = readonly_fields = ["short", "user", "where", "created_at", "seen_at", "expire_date"]
    sortable_by: list[str] = []  # the table may have millions of rows

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        return super().has_delete_permission(request, obj) and may_change_account(request, obj.user if obj else None)

    def get_ordering(self, request: HttpRequest) -> list[str]:
        """Sort the sessions of one user by age, newest first, and those of all users by key, which needs no sort."""
        return ["-created_at"] if "user__id__exact" in request.GET else ["pk"]

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the page of the list, with the last-seen times from Redis in one round trip."""
        changelist: ChangeList = super().get_changelist_instance(request)
        rows = list(changelist.result_list)
        times = last_seen.read_last_seen([row.pk for row in rows])
        for row in rows:
            row.seen_in_redis = times.get(row.pk, 0.0)
        changelist.result_list = rows
        return changelist

    def delete_model(self, request: HttpRequest, obj: Session) -> None:
        end_by_digest([obj.pk])

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions without Django's bulk deletion, which lists every row first and skips the services."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    @admin.action(description=_("End selected sessions"), permissions=["delete"])
    def end_selected(self, request: HttpRequest, sessions: QuerySet[Session]) -> None:
        rows = self.chosen(request, exclude_guarded(request, sessions, "user"))
        chosen = [session.pk for session in rows]
        if chosen:
            log_rows(request, rows, DELETION)
            self._report_ended_sessions(
                request,
                sum(
                    end_by_digest(chosen[n : n + SESSIONS_PER_TRANSACTION])
                    for n in range(0, len(chosen), SESSIONS_PER_TRANSACTION)
                ),
            )

    @display(description=_("digest"))
    def short(self, session: Session) -> str:
        return make_handle(session.pk)

    @display(description=_("device"))
    def where(self, session: Session) -> str:
        return describe_device(session.device)

    @display(description=_("last seen"))
    def seen_at(self, session: Session) -> str | None:
        score = getattr(session, "seen_in_redis", None)
        if score is None:
            score = last_seen.read_last_seen([session.pk]).get(session.pk, 0.0)
        if score:
            return _format_time(datetime.fromtimestamp(score, tz=UTC))
        return _format_time(session.last_seen.seen_at) if hasattr(session, "last_seen") else None


def _format_time(moment: datetime) -> str:
    """Return a time as the admin shows the times of fields."""
    return date_format(localtime(moment), "DATETIME_FORMAT")
