"""What the catalogue tells those who want to know."""

from django.dispatch import Signal

# A book's page is about to be answered with. request: the request; book_id: the book, which exists.
book_shown = Signal()
