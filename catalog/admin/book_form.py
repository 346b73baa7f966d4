"""The form of a book in the admin."""

from catalog.pictures.admin import PictureForm
from catalog.pictures.services import COVER
from catalog.values.languages import validate_language


class BookForm(PictureForm):
    """A book with its cover. Values that were stored before these checks stay until staff change them."""

    kept = COVER

    def clean_language(self) -> str:
        """Return the code of a language. Raises ValidationError."""
        code: str = self.cleaned_data["language"]
        if code and "language" in self.changed_data:
            validate_language(code)
        return code
