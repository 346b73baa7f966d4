"""The deletion of accounts by staff: as if the owners had requested it, with the same grace period."""

from typing import Any, Final

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.models import CHANGE
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts.admin_tools.base import AuditedAdmin
from accounts.admin_tools.confirmation import Question, ask_for_confirmation, is_confirmed
from accounts.admin_tools.staff import exclude_guarded, may_change_account
from accounts.audit.log import log_rows
from accounts.deletion import services as deletion
from accounts.models import User
from accounts.users.language import use_email_language

QUESTION: Final = Question(
    "delete_accounts",
    _("Delete these accounts?"),
    _(
        "The users are logged out and hidden now. They get an email and can keep their accounts by logging in, until "
        "the grace period ends. Then their data is deleted."
    ),
    _("Delete accounts"),
)


class AccountDeletionAdmin(AuditedAdmin):
    """Base for the list of users: "Delete" schedules the deletion of accounts, because rows of users have their data.

    Only superusers delete accounts of staff. Users delete their own account on its page.
    """

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        is_own = obj is not None and obj.pk == request.user.pk
        return super().has_delete_permission(request, obj) and may_change_account(request, obj) and not is_own

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Return the actions without Django's bulk deletion."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """Ask whether to delete the account. The answer goes to the action of the list."""
        user = self.get_object(request, unquote(object_id))
        if user is None:
            return self._get_obj_does_not_exist_redirect(request, self.opts, object_id)
        if not self.has_delete_permission(request, user):
            raise PermissionDenied
        return ask_for_confirmation(self, request, QUESTION, [(user, user.username)])

    @admin.action(description=_("Delete the accounts of selected users"), permissions=["delete"])
    def delete_accounts(self, request: HttpRequest, users: QuerySet[User]) -> HttpResponse | None:
        """Schedule the deletion of accounts for which none is scheduled yet."""
        is_scheduled = Q(is_active=False, deletion__isnull=False)
        others = exclude_guarded(request, users).exclude(Q(pk=request.user.pk) | is_scheduled)
        chosen = self.chosen(request, others)
        if chosen and not is_confirmed(request):
            return ask_for_confirmation(self, request, QUESTION, [(user, user.username) for user in chosen])
        if chosen:
            log_rows(request, chosen, CHANGE, gettext("Scheduled the deletion of the account."))
        for user in chosen:
            with use_email_language(user):
                deletion.request_deletion(user, by_staff=True)
        text = ngettext(
            "%(n)d account will be deleted in %(days)d days.",
            "%(n)d accounts will be deleted in %(days)d days.",
            len(chosen),
        )
        self.done(request, text, len(chosen), days=settings.ACCOUNT_DELETION_DAYS)
        return None
