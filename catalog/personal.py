"""The data about a person that this application keeps."""

from accounts.personal import register, rows
from catalog.models import TagVote
from catalog.votes import erase_votes


def register_parts() -> None:
    """Register the tags that a reader gave books."""
    columns = ["book_id", "book__title", "tag__name", "created_at"]
    register(rows("tag_votes", TagVote, "user", columns, erase=erase_votes))
