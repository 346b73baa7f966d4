"""The personal data that this application stores itself."""

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from accounts.audit.models import AuditEvent
from accounts.lockout import unlock
from accounts.lockout.limits import list_logins
from accounts.models import (
    AccountDeletion,
    AuthenticatorApp,
    EmailChange,
    FormerName,
    LoginStats,
    Passkey,
    RecoveryCode,
    Session,
    Suspension,
    User,
)
from accounts.personal.registry import Part, erase_nothing, make_part, register

ACCOUNT_COLUMNS = [
    "id",
    "username",
    "email",
    "first_name",
    "last_name",
    "user_type",
    "date_joined",
    "is_staff",
    "time_zone",
    "language",
    "is_private",
    "shows_logins",
]


def register_parts() -> None:
    """Register all parts of this application."""
    of_groups, of_permissions = User.groups.through, User.user_permissions.through
    staff = "It names other people, and the site keeps it for its own safety."
    register(make_part("account", User, "pk", ACCOUNT_COLUMNS, erase=erase_nothing))
    register(make_part("logins", LoginStats, "user", ["login_times", "last_login_time"]))
    register(make_part("former_names", FormerName, "user", ["name", "changed_at", "reserved_until"]))
    register(make_part("email_changes", EmailChange, "user", ["email", "asked_at"]))
    register(make_part("authenticator_apps", AuthenticatorApp, "user", ["created_at"]))
    register(make_part("passkeys", Passkey, "user", ["name", "created_at", "used_at"]))
    register(make_part("recovery_codes", RecoveryCode, "user", ["created_at"]))
    session = ["device", "created_at", "last_seen__seen_at", "expire_date"]
    register(
        make_part("sessions", Session, "user", session, erase=erase_nothing)
    )  # the request for deletion has ended them
    register(make_part("groups", of_groups, "user", ["group__name"]))
    permissions = ["permission__content_type__app_label", "permission__codename"]
    register(make_part("permissions", of_permissions, "user", permissions))
    register(make_part("deletions", AccountDeletion, "user", ["asked_at", "due_at"], erase=erase_nothing))
    register(make_part("suspensions", Suspension, "user", ["began_at", "ends_at"], erase=erase_nothing))
    register(
        make_part("audit", AuditEvent, "actor", reason=staff, erase=erase_nothing)
    )  # ``audit.receivers`` removes the names
    register(make_part("staff_actions", LogEntry, "user", reason=staff))
    register(Part("staff_actions_about", None, _erase_staff_actions, reason=staff))
    register(Part("failed_logins", None, _erase_failed_logins, reason="Other people may have caused it."))


def _erase_staff_actions(user_id: int) -> bool:
    """Delete admin log entries about the user, because they contain the name as text."""
    kind = ContentType.objects.get_for_model(User)
    LogEntry.objects.filter(content_type=kind, object_id=str(user_id)).delete()
    return False


def _erase_failed_logins(user_id: int) -> bool:
    for username, email in User.objects.filter(pk=user_id).values_list("username", "email"):
        for name in list_logins(username, email):
            unlock(name=name)
            AuditEvent.objects.filter(object=name, model="").update(object="", address="")
    return False
