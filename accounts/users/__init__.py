"""User accounts: registration, records for pages, bulk creation, and rules that hide accounts from readers."""

from accounts.users import bulk, hiding
from accounts.users.language import get_email_language
from accounts.users.time_zones import find_zone

__all__ = [
    "bulk",
    "find_zone",
    "get_email_language",
    "hiding",
]
