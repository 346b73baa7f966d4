"""Users, and what belongs to their accounts."""

from accounts.audit.models import AuditEvent
from accounts.lockout.models import FailedLogins
from accounts.models.pending import AccountDeletion, EmailChange, Suspension
from accounts.models.sessions import LastSeen, Session
from accounts.models.users import (
    FormerName,
    LoginStats,
    User,
    UserManager,
    UserQuerySet,
    get_derived_fields,
    new_secret,
)
from accounts.second_factor.models import AuthenticatorApp, Passkey, RecoveryCode

__all__ = [
    "AccountDeletion",
    "AuditEvent",
    "AuthenticatorApp",
    "EmailChange",
    "FailedLogins",
    "FormerName",
    "LastSeen",
    "LoginStats",
    "Passkey",
    "RecoveryCode",
    "Session",
    "Suspension",
    "User",
    "UserManager",
    "UserQuerySet",
    "get_derived_fields",
    "new_secret",
]
