"""Users, their sessions and groups in the admin."""

from datetime import UTC, datetime
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE, DELETION
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import IntegrityError
from django.db.models import Count, Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.timezone import localtime
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import StackedInline
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm

from accounts.admin_tools.base import AuditedAdmin
from accounts.admin_tools.deletion import AccountDeletionAdmin
from accounts.admin_tools.export import Column, ExportAdmin
from accounts.admin_tools.forms import UserChangeForm, UserCreationForm
from accounts.admin_tools.staff import exclude_guarded, may_change_account
from accounts.audit import admin as _audit  # noqa: F401
from accounts.audit.log import log_rows
from accounts.lockout import admin as _lockout  # noqa: F401
from accounts.mail import addresses
from accounts.models import LoginStats, Session, User
from accounts.second_factor import factors
from accounts.sessions import last_seen
from accounts.sessions.devices import describe_device
from accounts.sessions.listing import make_handle
from accounts.sessions.services import SESSIONS_PER_TRANSACTION, end_all_sessions, end_by_digest
from accounts.suspension import admin as _suspension  # noqa: F401
from accounts.users.renaming import keep_former_name

admin.site.unregister(Group)


class LoginStatsInline(StackedInline):
    """A read-only row with the number of a user's logins."""

    model = LoginStats
    fields = readonly_fields = ["login_times", "last_login_time"]
    can_delete = False
    hide_title = True  # the title would be the user's id

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class LimitedActionsAdmin(AuditedAdmin):
    """Base for lists with actions that run inside a request, so they are limited to a number of rows."""

    max_selected = 1000

    def _report_ended_sessions(self, request: HttpRequest, count: int) -> None:
        text = ngettext("%(n)d session was ended.", "%(n)d sessions were ended.", count)
        self.done(request, text, count)


@admin.register(User)
class UserAdmin(AccountDeletionAdmin, DjangoUserAdmin, ExportAdmin, LimitedActionsAdmin):
    """Users with their type, logins and sessions."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = [
        "username",
        "user_type",
        "email",
        "logins",
        "last_login_at",
        "session_count",
        "is_staff",
        "is_active",
    ]
    list_filter = ["user_type", "is_staff", "is_superuser", "is_active"]
    linked_lookups = ["date_joined__gte", "date_joined__lt"]  # the figures of the home page
    list_select_related = ["login_stats"]
    search_fields = ["username", "email"]
    ordering = ["username"]
    actions = ["end_sessions", "remove_factors", "delete_accounts", "export_csv"]
    export_columns = [
        Column("name", "username"),
        Column("type", "user_type"),
        Column("joined", "date_joined"),
        Column("is_active", "is_active"),
        Column("logins", "login_stats__login_times", "accounts.view_loginstats"),
        Column("last_login", "login_stats__last_login_time", "accounts.view_loginstats"),
        Column("email", "email", "accounts.change_user"),
    ]
    filter_horizontal = []  # the widget is too wide beside unfold's sidebar
    autocomplete_fields = ["groups"]
    inlines = [LoginStatsInline]
    fieldsets = [
        (None, {"fields": ["username", "user_type", "password"]}),
        (_("Personal info"), {"fields": ["first_name", "last_name", "email"]}),
        (
            _("Permissions"),
            {"fields": ["is_active", "is_staff", "is_superuser", "groups", "user_permissions"]},
        ),
        (_("Important dates"), {"fields": ["date_joined", "session_count"]}),
    ]
    readonly_fields = ["date_joined", "session_count"]
    add_fieldsets = [
        (None, {"fields": ["username", "user_type", "usable_password", "password1", "password2"]}),
    ]
    POWERS: Final = ("is_staff", "is_superuser", "groups", "user_permissions")

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> list[str]:
        """Make permissions read-only except for superusers: other staff could grant them to themselves."""
        given = list(super().get_readonly_fields(request, obj))
        return given if request.user.is_superuser else [*given, *self.POWERS]

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return super().has_change_permission(request, obj) and may_change_account(request, obj)

    def get_inlines(self, request: HttpRequest, obj: User | None) -> list[Any]:
        return list(super().get_inlines(request, obj)) if obj else []

    def save_model(self, request: HttpRequest, obj: User, form: ModelForm, change: bool) -> None:
        """Save the user, but keep the e-mail address until the owner has verified a new one."""
        wanted = obj.email if "email" in form.changed_data else ""
        if wanted:
            obj.email = form.initial.get("email", "")
        super().save_model(request, obj, form, change)
        if change and "username" in form.changed_data:
            keep_former_name(obj, form.initial["username"])
        if wanted:
            addresses.store_request(obj, wanted)
            addresses.send_link(obj.pk)
            text = gettext("%(email)s becomes the email address when it is verified: a link was sent to it.")
            self.message_user(request, text % {"email": wanted}, messages.WARNING)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return super().changeform_view(request, *args, **kwargs)
        except IntegrityError:  # the name was taken between validation and the write
            self.message_user(request, gettext("That name has just been taken."), messages.ERROR)
            return HttpResponseRedirect(request.get_full_path())

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Return the page of the list, with the numbers of sessions of all its users from one query."""
        changelist: ChangeList = super().get_changelist_instance(request)
        rows = list(changelist.result_list)
        owned = Session.objects.filter(user__in=[row.pk for row in rows]).order_by().values_list("user_id")
        counts = dict(owned.annotate(Count("pk")))
        for row in rows:
            row.number_of_sessions = counts.get(row.pk, 0)
        changelist.result_list = rows
        return changelist

    @display(description=_("logins"))
    def logins(self, user: User) -> int:
        return user.login_stats.login_times if hasattr(user, "login_stats") else 0

    @display(description=_("last login"))
    def last_login_at(self, user: User) -> datetime | None:
        return user.login_stats.last_login_time if hasattr(user, "login_stats") else None

    @display(description=_("sessions"))
    def session_count(self, user: User) -> str:
        count = getattr(user, "number_of_sessions", None)
        if count is None:
            count = Session.objects.filter(user=user.pk).count()
        address = reverse("admin:accounts_session_changelist")
        return format_html('<a class="underline" href="{}?user__id__exact={}">{}</a>', address, user.pk, count)

    @admin.action(description=_("End all sessions of selected users"), permissions=["change"])
    def end_sessions(self, request: HttpRequest, users: QuerySet[User]) -> None:
        chosen = self.chosen(request, exclude_guarded(request, users))
        if not chosen:
            return
        log_rows(request, chosen, CHANGE, gettext("Ended all sessions."))
        self._report_ended_sessions(request, sum(end_all_sessions(user) for user in chosen))

    @admin.action(description=_("Remove second factors of selected users"), permissions=["remove_factors"])
    def remove_factors(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Remove lost second factors, so that their owners can log in, and end the owners' sessions."""
        chosen = self.chosen(request, users)
        for user in chosen:
            factors.remove_all(user, actor=request.user)
        if chosen:
            log_rows(request, chosen, CHANGE, gettext("Removed all second factors."))
            text = ngettext(
                "The second factors of %(n)d user were removed.",
                "The second factors of %(n)d users were removed.",
                len(chosen),
            )
            self.done(request, text, len(chosen))

    def has_remove_factors_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)


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


@admin.register(Group)
class GroupAdmin(DjangoGroupAdmin, AuditedAdmin):
    """Groups, which give staff their permissions. Only superusers change them: staff could change their own groups."""

    filter_horizontal = []  # as for users

    def has_add_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)

    def has_change_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return bool(request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Group | None = None) -> bool:
        return bool(request.user.is_superuser)
