"""List, check and remove the second factors of a user, and report their changes."""

from typing import Final, NamedTuple

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models import Q
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import override

from accounts.audit.log import Kind, record_event
from accounts.mail import outgoing
from accounts.models import User
from accounts.second_factor import app_codes, recovery
from accounts.second_factor.app_codes import CodeUse
from accounts.second_factor.models import AuthenticatorApp, Passkey, RecoveryCode
from accounts.sessions.services import end_all_sessions
from common.database import repeat_after_conflict

APP_ADDED: Final = _("An authenticator app was added.")
APP_REMOVED: Final = _("The authenticator app was removed.")
PASSKEY_ADDED: Final = _("A passkey was added.")
PASSKEY_REMOVED: Final = _("A passkey was removed.")
CODES_RENEWED: Final = _("New recovery codes were created.")
CODE_USED: Final = _("A recovery code was used.")
CODE_REPEATED: Final = _("A code of the authenticator app was entered a second time, and was refused.")
RESET: Final = _("Two-step login was turned off by staff.")


class Overview(NamedTuple):
    """The second factors of a user. codes: the number of unused recovery codes."""

    app: AuthenticatorApp | None
    passkeys: list[Passkey]
    codes: int

    @property
    def total(self) -> int:
        """Return the number of second factors, without recovery codes."""
        return len(self.passkeys) + (self.app is not None)


def read_overview(user_id: int) -> Overview:
    """Return the second factors of a user."""
    keys = list(Passkey.objects.filter(user=user_id).order_by("pk"))
    codes = RecoveryCode.objects.filter(user=user_id).count()
    return Overview(AuthenticatorApp.objects.filter(pk=user_id).first(), keys, codes)


def has_factor(user_id: int) -> bool:
    """Return whether the user has an authenticator app or a passkey, with one SQL query."""
    found = Q(authenticator_app__isnull=False) | Q(passkeys__isnull=False)
    return User.objects.filter(found, pk=user_id).exists()


def is_required(user: User) -> bool:
    """Return whether this user must have a second factor."""
    return bool(settings.SECOND_FACTOR_FOR_STAFF and (user.is_staff or user.is_superuser))


def check_factor(request: HttpRequest, user: User, *, code: str = "", credential: str = "") -> bool:
    """Return whether the given second factor is right: a code of an app, a recovery code, or a passkey's signature.

    Each is valid once. The caller must limit the number of attempts.
    """
    if credential:
        # Imported late, because its library takes a fifth of the time in which a process starts.
        from accounts.second_factor import passkeys

        is_right = passkeys.use_passkey(request, user.pk, credential)
    else:
        use = app_codes.use_code(user.pk, code.replace(" ", ""))
        is_right = use is CodeUse.RIGHT
        if use is CodeUse.REPEATED:
            report_change(user, CODE_REPEATED)
        elif use is CodeUse.WRONG and recovery.use_code(user.pk, code):
            is_right = True
            report_change(user, CODE_USED)
    if not is_right:
        record_event(Kind.FACTOR, user, "A wrong code or passkey was given.")
    return is_right


@repeat_after_conflict
def report_change(user: User, what: Promise, *, actor: User | AnonymousUser | None = None) -> None:
    """Report a change of second factors to the audit log (in English) and to the user's e-mail address."""
    # The audit log is in one language, whatever the language of the user.
    with override("en"):
        details = str(what)
    with transaction.atomic():
        record_event(Kind.FACTOR, user, details, actor=actor)
        outgoing.queue_email("factors_changed", user, what=str(what))


@repeat_after_conflict
def remove_all(user: User, *, actor: User | AnonymousUser | None = None) -> None:
    """Remove all second factors of a user, for example after the loss of a device, and end all sessions."""
    with transaction.atomic():
        for model in (AuthenticatorApp, Passkey, RecoveryCode):
            model._default_manager.filter(user=user.pk).delete()
        end_all_sessions(user)
        report_change(user, RESET, actor=actor)
