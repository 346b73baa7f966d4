"""The personal data that this application keeps."""

from accounts.personal import make_part, register
from social.welcome.models import ChosenGenre


def register_parts() -> None:
    """Register the genres that a reader has chosen."""
    register(make_part("genres", ChosenGenre, "user", ["tag__name"]))
