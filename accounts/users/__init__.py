"""User accounts: registration, records for pages, bulk creation, and rules that hide accounts from readers."""

from accounts.users import bulk, hiding

__all__ = [
    "bulk",
    "hiding",
]
