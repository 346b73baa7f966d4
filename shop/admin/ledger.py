"""Pages of the ledger, and of what else the shop writes by itself."""

from typing import Any

from django.http import HttpRequest

from accounts.admin_base import Bounded


class Ledger(Bounded):
    """Rows that are written by the shop alone, and stay."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ReadOnly(Ledger):
    """To be looked at."""

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
