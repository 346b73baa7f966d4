"""The privacy of shelves that the site's own export tells."""

from catalog.library.models import LibraryImport
from catalog.shelves.models import Privacy, Shelf, ShelfEntry
from catalog.shelves.services import set_privacy


def apply_privacy(load: LibraryImport) -> None:
    """Give the reader's empty shelves the privacy of the file, before they get books. An undo leaves it.

    Shelves with books keep theirs, also an earlier part of this import.
    """
    told = load.details.get("shelves", {})
    filled = set(ShelfEntry.objects.filter(user_id=load.user_id).values_list("shelf", flat=True).distinct())
    for shelf in Shelf:
        privacy = Privacy(told.get(shelf.value, Privacy.PUBLIC))
        # No shelf becomes more visible.
        if shelf.value not in filled and privacy != Privacy.PUBLIC:
            set_privacy(load.user_id, shelf, privacy)
