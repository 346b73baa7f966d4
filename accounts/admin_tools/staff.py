"""The rule about staff in the admin: only superusers change anything that belongs to a member of staff.

A password, an address, a session or a counter of failed logins of another account leads to its permissions.
"""

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from accounts.models import User


def may_change_account(request: HttpRequest, user: User | None) -> bool:
    """Return whether the request's user may change what belongs to this account. None: any account."""
    is_guarded = user is not None and (user.is_staff or user.is_superuser)
    return not is_guarded or bool(request.user.is_superuser)


def exclude_guarded(request: HttpRequest, rows: QuerySet[Any], owner: str = "") -> QuerySet[Any]:
    """Return the rows that the request's user may change. owner: the relation from a row to its user; "": itself."""
    if request.user.is_superuser:
        return rows
    prefix = f"{owner}__" if owner else ""
    return rows.exclude(Q(**{f"{prefix}is_superuser": True}) | Q(**{f"{prefix}is_staff": True}))
