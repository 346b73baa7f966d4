"""Years of publication. Negative years are BC, and there is no year 0."""

from typing import Final

from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from common import clock

MIN_YEAR: Final = -4000  # before the oldest books


def is_possible_year(year: int) -> bool:
    """Return whether a book may have been published in ``year``. Publishers announce the books of the next year."""
    return MIN_YEAR <= year <= get_max_year() and year != 0


def get_max_year() -> int:
    """Return the next year."""
    return clock.now().year + 1


def validate_year(year: int) -> None:
    """Raise ValidationError for an impossible year of publication."""
    if not is_possible_year(year):
        raise ValidationError(
            _("Enter a year from %(least)d to %(most)d. Years BC are negative, and there is no year 0."),
            code="year",
            params={"least": MIN_YEAR, "most": get_max_year()},
        )
