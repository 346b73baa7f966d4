"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from social.reviews.models import Review


def register_parts() -> None:
    """Register a reader's reviews. Their dates, content notes and former versions are those of their posts."""
    columns = ["post_id", "book_id", "book__title", "text", "language"]
    register(make_part("reviews", Review, "user", columns))
