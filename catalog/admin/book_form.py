"""The form of a book in the admin."""

from django.core.exceptions import ValidationError
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from catalog.models import Book
from catalog.pictures.admin import PictureForm
from catalog.pictures.services import COVER
from catalog.values.isbns import normalise_isbn
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

    def clean_isbn(self) -> str:
        """Return an ISBN that no other book has. Raises ValidationError, with a link to the other book.

        As in ``catalog.importer.duplicates``, a book with the same ISBN is the same book.
        """
        isbn = normalise_isbn(self.cleaned_data["isbn"])
        if not isbn or isbn == normalise_isbn(self.initial.get("isbn", "")):
            return isbn
        other = Book.objects.filter(isbn=isbn).exclude(pk=self.instance.pk).order_by("pk").first()
        if other is not None:
            address = reverse("admin:catalog_book_change", args=[other.pk])
            link = format_html('<a class="underline" href="{}">{}</a>', address, other.title)
            raise ValidationError(format_html(_("Another book has this ISBN: {book}"), book=link), code="isbn_taken")
        return isbn
