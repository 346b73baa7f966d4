"""Users and groups in the admin."""

from datetime import datetime
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.admin.models import CHANGE
from django.contrib.admin.views.main import ChangeList
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import IntegrityError
from django.db.models import Count, Model, QuerySet
from django.forms import ModelForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.admin import StackedInline
from unfold.decorators import display
from unfold.forms import AdminPasswordChangeForm

from accounts.admin_tools.base import AuditedAdmin
from accounts.admin_tools.concurrent_edits import SerialisedEdits
from accounts.admin_tools.deletion import AccountDeletionAdmin
from accounts.admin_tools.export import Column, ExportAdmin
from accounts.admin_tools.forms import UserChangeForm, UserCreationForm
from accounts.admin_tools.links import link_to_rows
from accounts.admin_tools.related import (
    RelatedRows,
    RelatedRowsAdmin,
    count_related,
    link_to_list,
    register_related_rows,
)
from accounts.admin_tools.staff import exclude_guarded, may_change_account
from accounts.audit import admin as _audit  # noqa: F401
from accounts.audit.log import log_rows
from accounts.audit.models import AuditEvent
from accounts.lockout import admin as _lockout  # noqa: F401
from accounts.lockout.limits import list_logins
from accounts.lockout.models import FailedLogins
from accounts.mail import addresses
from accounts.models import LoginStats, Session, User
from accounts.second_factor import factors
from accounts.sessions.admin import LimitedActionsAdmin
from accounts.sessions.services import end_all_sessions
from accounts.suspension import admin as _suspension  # noqa: F401
from accounts.users.language import use_email_language
from accounts.users.renaming import keep_former_name
from mirror.admin import count_rows

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


@admin.register(User)
class UserAdmin(
    SerialisedEdits, AccountDeletionAdmin, RelatedRowsAdmin, DjangoUserAdmin, ExportAdmin, LimitedActionsAdmin
):
    """Users with their type, logins and sessions, and links to their rows of other applications."""

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
    personal_fields = ("username", "first_name", "last_name", "email")
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
        former = form.initial.get("email", "")
        wanted = obj.email if "email" in form.changed_data else ""
        if wanted:
            obj.email = former
        super().save_model(request, obj, form, change)
        if change and not obj.is_active and "is_active" in form.changed_data:
            # Otherwise they would go on when the user is active again.
            end_all_sessions(obj)
        if former and not obj.email:
            with use_email_language(obj):
                addresses.report_removal(obj, former)
        if change and "username" in form.changed_data:
            keep_former_name(obj, form.initial["username"])
        if wanted:
            addresses.store_request(obj, wanted)
            with use_email_language(obj):
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
        return link_to_rows(Session, f"{address}?user__id__exact={user.pk}", count)

    @admin.action(description=_("End all sessions of selected users"), permissions=["change"])
    def end_sessions(self, request: HttpRequest, users: QuerySet[User]) -> None:
        chosen = self.chosen(request, exclude_guarded(request, users))
        if not chosen:
            return
        log_rows(request, chosen, CHANGE, gettext("Ended all sessions."))
        self._report_ended_sessions(request, sum(end_all_sessions(user) for user in chosen))

    @admin.action(description=_("Turn off two-step login of selected users"), permissions=["remove_factors"])
    def remove_factors(self, request: HttpRequest, users: QuerySet[User]) -> None:
        """Remove lost second factors, so that their owners can log in, and end the owners' sessions."""
        chosen = self.chosen(request, users)
        for user in chosen:
            with use_email_language(user):
                factors.remove_all(user, actor=request.user)
        if chosen:
            log_rows(request, chosen, CHANGE, gettext("Turned off two-step login."))
            text = ngettext(
                "Two-step login of %(n)d user was turned off.",
                "Two-step login of %(n)d users was turned off.",
                len(chosen),
            )
            self.done(request, text, len(chosen))

    def has_remove_factors_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_superuser)


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


def _find_names(user: User) -> list[str]:
    return list_logins(user.username, user.email)


def _count_failures(user: User) -> int:
    return count_rows(FailedLogins.objects.filter(name__in=_find_names(user)))


register_related_rows(
    User,
    RelatedRows(
        _("failed logins"),
        FailedLogins,
        lambda user: link_to_list(FailedLogins, name__in=",".join(_find_names(user))),
        _count_failures,
    ),
    count_related(_("actions in the audit log"), lambda pk: AuditEvent.objects.filter(actor=pk), "actor__id__exact"),
)
