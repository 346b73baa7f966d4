"""Receivers of the catalogue's signals."""

from typing import Any

from django.dispatch import receiver

from catalog.signals import book_rated
from social.reviews.services import update_rating_post


@receiver(book_rated, dispatch_uid="reviews.update_rating_post")
def show_rating(*, user_id: int, book_id: int, stars: int | None, **kwargs: Any) -> None:
    """Show a changed rating to the reader's followers."""
    update_rating_post(user_id, book_id, stars)
