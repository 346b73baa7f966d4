"""The rule about staff in the admin: only superusers change anything that belongs to a member of staff.

Otherwise a member of staff could gain a colleague's permissions, for example by a new email address and a new password.
"""

from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts.models import User


def may_change_account(request: HttpRequest, user: User | None) -> bool:
    """Return whether the request's user may change what belongs to this account. None: any account."""
    return user is None or not is_guarded_from(user, request.user)


def is_guarded_from(user: User, staff: User | AnonymousUser) -> bool:
    """Return whether ``user`` is a colleague whose data ``staff`` may not change."""
    return (user.is_staff or user.is_superuser) and not staff.is_superuser


def exclude_guarded(request: HttpRequest, rows: QuerySet[Any], owner: str = "") -> QuerySet[Any]:
    """Return the rows that the request's user may change. owner: the relation from a row to its user; "": itself."""
    if request.user.is_superuser:
        return rows
    prefix = f"{owner}__" if owner else ""
    return rows.exclude(Q(**{f"{prefix}is_superuser": True}) | Q(**{f"{prefix}is_staff": True}))
