"""The personal data that this application stores itself."""

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Q

from accounts.audit.models import AuditEvent
from accounts.lockout import unlock
from accounts.lockout.limits import list_logins
from accounts.models import (
    AccountDeletion,
    AuthenticatorApp,
    EmailChange,
    FailedLogins,
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
    # Before the former names, which may have counters as well.
    register(Part("failed_logins", None, _erase_failed_logins, reason="Other people may have caused it."))
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


def _erase_staff_actions(user_id: int) -> bool:
    """Delete admin log entries about the user, because they contain the name or the id as text."""
    kinds = ContentType.objects.get_for_models(User, Suspension).values()
    LogEntry.objects.filter(content_type__in=kinds, object_id=str(user_id)).delete()
    return False


def _erase_failed_logins(user_id: int) -> bool:
    """Delete the counters of the user's names and address, and take them out of both logs."""
    kind = ContentType.objects.get_for_model(FailedLogins)
    for name in _list_logins(user_id):
        unlock(name=name)
        AuditEvent.objects.filter(object=name, model="").update(object="", address="")
        # Staff have reset a counter of the name, or of the name from one network address.
        LogEntry.objects.filter(_is_counter("object_repr", name), content_type=kind).delete()
        reset = AuditEvent.objects.filter(_is_counter("object", name), model=FailedLogins._meta.label_lower)
        reset.update(object="", object_id="")
    return False


def _list_logins(user_id: int) -> list[str]:
    """Return what the user may have typed at a login, also before a change of the name, in the form of counters."""
    user = User.objects.filter(pk=user_id).first()
    if user is None:
        return []
    former = FormerName.objects.filter(user=user_id).values_list("name_key", flat=True)
    return [*list_logins(user.username, user.email), *former]


def _is_counter(field: str, name: str) -> Q:
    """Return the condition that the text in a field is that of a counter (``FailedLogins.__str__``) of a name."""
    return Q(**{field: name}) | Q(**{f"{field}__startswith": f"{name} · "})
