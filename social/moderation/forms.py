"""Forms of visitors: a report, and an appeal."""

from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from social.moderation.models import MAX_DETAILS, Reason

# What visitors without a login may report (article 16 of the Digital Services Act).
OPEN_REASONS: Final = (Reason.ILLEGAL, Reason.CHILD)
EXPLAINED_REASONS: Final = (Reason.ILLEGAL, Reason.OTHER)


class TextField(forms.CharField):
    """A text of several lines."""

    def __init__(self, **kwargs: Any) -> None:
        widget = forms.Textarea(attrs={"rows": 6, "class": "input", "dir": "auto"})
        super().__init__(max_length=MAX_DETAILS, widget=widget, **kwargs)


class ReportForm(forms.Form):
    """A report. Visitors without a login give a name and an address, except about the sexual abuse of children."""

    reason = forms.ChoiceField(label=gettext_lazy("Reason"), widget=forms.Select(attrs={"class": "input"}))
    details = TextField(
        label=gettext_lazy("Explanation"),
        required=False,
        help_text=gettext_lazy("What is wrong with it? If you believe that it is illegal, tell us why."),
    )
    name = forms.CharField(
        label=gettext_lazy("Your name"), required=False, max_length=100, widget=forms.TextInput(attrs={"dir": "auto"})
    )
    email = forms.EmailField(
        label=gettext_lazy("Your email address"),
        required=False,
        help_text=gettext_lazy("We send the result there. Nobody else sees it, except for staff."),
        widget=forms.EmailInput(attrs={"autocomplete": "email"}),
    )
    is_true = forms.BooleanField(
        label=gettext_lazy("I believe in good faith that what I report is accurate and complete."), required=False
    )

    def __init__(self, *args: Any, is_reader: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_reader = is_reader
        reasons = [one for one in Reason if is_reader or one in OPEN_REASONS]
        self.fields["reason"].choices = [("", "—"), *((one.value, one.label) for one in reasons)]  # type: ignore[attr-defined]
        if is_reader:
            del self.fields["name"], self.fields["email"]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        reason = given.get("reason")
        if reason in EXPLAINED_REASONS and not given.get("details") and "details" not in self.errors:
            self.add_error("details", _("Explain the reason."))
        if reason in OPEN_REASONS and not given.get("is_true"):
            self.add_error("is_true", _("Confirm this, please."))
        if not self.is_reader and reason == Reason.ILLEGAL:
            for name in ("name", "email"):
                if not given.get(name) and name not in self.errors:
                    self.add_error(name, _("We need this for a report of illegal content."))
        return given


class AppealForm(forms.Form):
    """An appeal."""

    details = TextField(label=gettext_lazy("Why is the decision wrong?"))
