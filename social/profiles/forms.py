"""The form of a profile."""

from typing import Any, Final

from django import forms
from django.core.validators import URLValidator
from django.utils.translation import gettext_lazy as _

from common.text import remove_invisible

MAX_BIO: Final = 500  # characters
MAX_LINKS: Final = 4
MAX_LINK: Final = 200  # characters


class ProfileForm(forms.Form):
    """A text about the reader, and up to four links."""

    bio = forms.CharField(
        label=_("About you"),
        required=False,
        max_length=MAX_BIO,
        widget=forms.Textarea(attrs={"rows": 5, "class": "input"}),
        help_text=_("Up to 500 characters. Web addresses become links."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for number in range(1, MAX_LINKS + 1):
            # Only https: a link must neither run a script nor lead to a page that others can change on the way.
            self.fields[f"link{number}"] = forms.URLField(
                label=_("Link %(number)s") % {"number": number},
                required=False,
                max_length=MAX_LINK,
                assume_scheme="https",
                widget=forms.URLInput(attrs={"placeholder": "https://"}),
                validators=[URLValidator(schemes=["https"])],
            )

    def clean_bio(self) -> str:
        return str(remove_invisible(self.cleaned_data["bio"])).strip()

    def list_links(self) -> list[str]:
        """Return the given links, each once."""
        given = (self.cleaned_data[f"link{number}"] for number in range(1, MAX_LINKS + 1))
        return list(dict.fromkeys(filter(None, given)))
