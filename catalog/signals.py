"""Signals of the catalogue."""

from django.dispatch import Signal

# Sent before the page of an existing book is rendered. Arguments: ``request`` and ``book_id``.
book_shown = Signal()
