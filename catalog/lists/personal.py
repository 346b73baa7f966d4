"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from catalog.lists.models import ListedBook, ReadingList


def register_parts() -> None:
    """Register a reader's lists and the books on them."""
    listed = ["reading_list_id", "reading_list__name", "book_id", "book__title", "position", "added_on"]
    register(make_part("listed_books", ListedBook, "reading_list__user", listed))
    columns = ["id", "name", "description", "privacy", "order", "created_at"]
    register(make_part("lists", ReadingList, "user", columns))
