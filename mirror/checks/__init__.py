"""System checks of declarations and of the database. Django registers them when this package is imported."""

from mirror.checks.database import check_connection, check_methods, check_schemas, check_triggers
from mirror.checks.declarations import check_declarations, check_vendor
from mirror.checks.settings import check_settings

__all__ = [
    "check_connection",
    "check_declarations",
    "check_methods",
    "check_schemas",
    "check_settings",
    "check_triggers",
    "check_vendor",
]
