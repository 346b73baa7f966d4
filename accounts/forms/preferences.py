"""The form of a user's preferences."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.users.preferences import Preferences
from accounts.users.time_zones import find_present_name, list_choices


class ZoneField(forms.ChoiceField):
    """A time zone. Browsers and older accounts also tell names that are out of use."""

    def to_python(self, value: Any) -> str:
        return find_present_name(super().to_python(value))

    def prepare_value(self, value: Any) -> Any:
        return find_present_name(value) if isinstance(value, str) else value


class PreferencesForm(forms.Form):
    """The preferences of a user."""

    time_zone = ZoneField(
        label=_("Time zone"),
        required=False,
        choices=list_choices,
        widget=forms.Select(attrs={"class": "input"}),
        help_text=_(
            "Pages show times in this zone. If you choose one, it also decides on which day you finish a book."
        ),
    )

    shows_logins = forms.TypedChoiceField(
        label=_("Logins"),
        required=False,
        coerce=bool,
        empty_value="",
        widget=forms.Select(attrs={"class": "input"}),
        choices=[("", _("Only I see them")), ("yes", _("Everyone sees them"))],
        help_text=_("The leaderboard and the list of recent logins show only readers who agree."),
    )

    def get_preferences(self) -> Preferences:
        """Return what the user chose."""
        return Preferences(self.cleaned_data["time_zone"], bool(self.cleaned_data["shows_logins"]))
