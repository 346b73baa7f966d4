"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from catalog.following.models import AuthorFollow


def register_parts() -> None:
    """Register the authors that a reader follows."""
    register(make_part("followed_authors", AuthorFollow, "user", ["author_id", "author__name", "created_at"]))
