"""The form of a review."""

from typing import Final

from django import forms

from catalog.shelves.forms import StarsField
from social.reviews.services import LANGUAGES, Draft

# The services clean the texts and limit their lengths, and this form only their types.
MAX_LENGTH: Final = 100_000


class ReviewForm(forms.Form):
    """A review. The texts are those that the writer typed."""

    stars = StarsField()
    text = forms.CharField(max_length=MAX_LENGTH, strip=False, required=False)
    note = forms.CharField(max_length=1000, required=False)
    language = forms.ChoiceField(choices=[(code, code) for code in LANGUAGES], required=False)

    def get_draft(self) -> Draft:
        """Return the draft of a valid form."""
        given = self.cleaned_data
        return Draft(given["text"], given["stars"], given["note"], given["language"])
