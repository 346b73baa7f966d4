"""The form of a wish."""

from django import forms
from django.utils.translation import gettext_lazy as _

from catalog.lists.forms import CleanField
from catalog.wishes.models import MAX_NOTE_LENGTH, MAX_TITLE_LENGTH


class WishForm(forms.Form):
    """A wish for a book."""

    title = CleanField(label=_("Title"), max_length=MAX_TITLE_LENGTH, is_one_line=True)
    note = CleanField(
        label=_("Author, ISBN or other details"), max_length=MAX_NOTE_LENGTH, is_one_line=True, required=False
    )
