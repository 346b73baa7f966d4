"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from catalog.wishes.models import BookWish


def register_parts() -> None:
    """Register a reader's wishes."""
    register(make_part("book_wishes", BookWish, "user", ["title", "note", "state", "created_at"]))
