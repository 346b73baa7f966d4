"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from catalog.library.models import ImportRow, LibraryImport


def register_parts() -> None:
    """Register a reader's imports. What they changed belongs to the shelves, reviews and lists."""
    row = ["library_import_id", "number", "raw", "step", "book_id"]
    register(make_part("import_rows", ImportRow, "library_import__user", row))
    register(make_part("imports", LibraryImport, "user", ["id", "service", "file_name", "state", "created_at"]))
