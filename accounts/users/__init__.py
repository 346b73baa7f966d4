"""User accounts: registration, records for pages, bulk creation, and rules that hide accounts from readers."""

from accounts.users import bulk, hiding
from accounts.users.hiding import HidingRule

__all__ = [
    "HidingRule",
    "bulk",
    "hiding",
]
