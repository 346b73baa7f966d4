"""Tags: aliases, votes, bulk changes, similar names, and the pages that change them."""

from catalog.tags.bulk import add_counted_taggings, get_or_create_ids, update_statistics

__all__ = [
    "add_counted_taggings",
    "get_or_create_ids",
    "update_statistics",
]
