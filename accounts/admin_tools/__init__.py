"""Base classes for the admin of all applications: bounded actions, big tables, audit entries."""

from accounts.admin_tools.base import AuditedAdmin, BigTableAdmin
from accounts.admin_tools.paginator import MAX_COUNTED_ROWS

__all__ = [
    "MAX_COUNTED_ROWS",
    "AuditedAdmin",
    "BigTableAdmin",
]
