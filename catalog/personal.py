"""The personal data that this application keeps."""

from django.db.models import F

from accounts.personal import make_part, register
from catalog.models import ReadingGoal, ShelfEntry, ShelfSettings, TagVote
from catalog.shelves.models import PRIVACY_FIELDS
from catalog.tags.votes import erase_votes


def register_parts() -> None:
    """Register a reader's votes for tags, shelves with ratings, yearly goals, and the privacy of the shelves."""
    columns = ["book_id", "book__title", "tag__name", "created_at"]
    register(make_part("tag_votes", TagVote, "user", columns, erase=erase_votes))
    entry = ["book_id", "book__title", "shelf", "shelved_on", "started_on", "finished_on"]
    register(make_part("shelves", ShelfEntry, "user", entry, computed={"rating": F("stars") / 2.0}))
    register(make_part("reading_goals", ReadingGoal, "reader__user", ["year", "books"]))
    register(make_part("shelf_settings", ShelfSettings, "user", list(PRIVACY_FIELDS.values())))
