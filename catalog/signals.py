"""Signals of the catalogue."""

from django.dispatch import Signal

# Sent before the page of an existing book is rendered. Arguments: ``request`` and ``book_id``.
book_shown = Signal()

# Sent in the transaction in which a reader's rating of a book changed. Arguments: ``user_id``, ``book_id`` and
# ``stars``, in halves; None after the rating or the book was removed.
book_rated = Signal()

# Sent in the transaction in which a tag is merged into another one, before it is deleted. Arguments: ``tag_id`` and
# ``target_id``.
tag_merged = Signal()

# Sent in the transaction in which a reader restores a deleted list of books, before it. Argument: ``list_id``. A
# receiver refuses it by raising NotUndoable.
list_returns = Signal()
