"""Mean ratings of books."""

from decimal import Decimal
from typing import Final

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

MIN_RATING: Final = 0
MAX_RATING: Final = 5


def is_possible_rating(rating: Decimal) -> bool:
    """Return whether ``rating`` may be the mean of a book's stars."""
    return MIN_RATING <= rating <= MAX_RATING


def validate_rating(rating: Decimal) -> None:
    """Raise ValidationError for an impossible mean rating."""
    if not is_possible_rating(rating):
        raise ValidationError(
            _("Enter a mean rating from %(least)d to %(most)d."),
            code="rating",
            params={"least": MIN_RATING, "most": MAX_RATING},
        )
