"""Files of other services: reading them, and what their columns mean."""

from catalog.library.formats.details import OF_SHELF_DATES, ImportedProgress, ListPlace
from catalog.library.formats.files import FileRefused, Table, read_table
from catalog.library.formats.rows import ImportedBook, ImportedReading, read_row
from catalog.library.formats.services import SERVICES, Service

__all__ = [
    "OF_SHELF_DATES",
    "SERVICES",
    "FileRefused",
    "ImportedBook",
    "ImportedProgress",
    "ImportedReading",
    "ListPlace",
    "Service",
    "Table",
    "read_row",
    "read_table",
]
