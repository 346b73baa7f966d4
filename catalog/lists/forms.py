"""Forms for lists."""

from typing import Final

from django import forms
from django.utils.translation import gettext_lazy as _

from catalog.lists.models import MAX_BOOKS, MAX_DESCRIPTION_LENGTH, MAX_NAME_LENGTH, Order
from catalog.lists.services import ListDraft
from catalog.shelves.models import Privacy
from common.text import remove_invisible

ACTIONS: Final = ("add", "remove", "move", "up", "down")


class CleanField(forms.CharField):
    """Text without control characters and useless invisible ones. A field of one line has no line ends either."""

    def __init__(self, *, is_one_line: bool = False, **options: object) -> None:
        super().__init__(**options)  # type: ignore[arg-type]
        self.is_one_line = is_one_line

    def to_python(self, value: object) -> str:
        text = remove_invisible(str(super().to_python(value) or "").replace("\r\n", "\n").replace("\t", " "))
        return " ".join(text.split()) if self.is_one_line else text.strip()


class ListForm(forms.Form):
    """A list's fields."""

    name = CleanField(label=_("Name"), max_length=MAX_NAME_LENGTH, is_one_line=True)
    description = CleanField(label=_("Description"), max_length=MAX_DESCRIPTION_LENGTH, required=False)
    privacy = forms.TypedChoiceField(
        label=_("Visible to"), choices=Privacy, coerce=Privacy, required=False, empty_value=Privacy.PUBLIC
    )
    order = forms.TypedChoiceField(
        label=_("Order"), choices=Order, coerce=Order, required=False, empty_value=Order.HAND
    )

    def get_draft(self) -> ListDraft:
        """Return the draft of a valid form."""
        return ListDraft(**self.cleaned_data)


class ListedBookForm(forms.Form):
    """A change of a book on a list. ``place`` counts for "move"."""

    action = forms.ChoiceField(choices=[(name, name) for name in ACTIONS])
    book = forms.IntegerField(min_value=1, max_value=2**63 - 1)
    place = forms.IntegerField(min_value=1, max_value=MAX_BOOKS, required=False)


class UndoForm(forms.Form):
    """The book whose menu htmx replaces after an undo."""

    book = forms.IntegerField(min_value=1, max_value=2**63 - 1)
