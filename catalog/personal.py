"""The personal data that this application keeps."""

from django.db.models import F

from accounts.personal import make_part, register
from catalog.models import EarlierReading, ReadingGoal, ReadingProgress, ShelfEntry, ShelfSettings, TagVote
from catalog.shelves.models import PRIVACY_FIELDS
from catalog.tags.votes import erase_votes

DATES = ("started_on", "finished_on", "finished_precision")


def register_parts() -> None:
    """Register a reader's votes for tags, shelves with ratings, readings, yearly goals, and their privacy."""
    columns = ["book_id", "book__title", "tag__name", "created_at"]
    register(make_part("tag_votes", TagVote, "user", columns, erase=erase_votes))
    entry = ["book_id", "book__title", "shelf", "shelved_on", *DATES, "pages"]
    register(make_part("shelves", ShelfEntry, "user", entry, computed={"rating": F("stars") / 2.0}))
    progress = ["book_id", "book__title", "reading_id", "noted_on", "page", "percent", "note"]
    register(make_part("reading_progress", ReadingProgress, "user", progress))
    register(
        make_part("earlier_readings", EarlierReading, "user", ["id", "book_id", "book__title", *DATES, "is_finished"])
    )
    register(make_part("reading_goals", ReadingGoal, "reader__user", ["year", "books"]))
    register(make_part("shelf_settings", ShelfSettings, "user", list(PRIVACY_FIELDS.values())))
