"""User accounts: registration, records for pages, bulk creation, and rules that hide accounts from readers."""

from accounts.users import bulk, hiding
from accounts.users.language import get_email_language

__all__ = [
    "bulk",
    "get_email_language",
    "hiding",
]
