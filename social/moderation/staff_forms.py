"""Forms of staff: a decision about a case, and one about an appeal."""

from collections.abc import Sequence
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from social.moderation.models import MAX_DETAILS, MAX_RULE, Action, Basis, Kind, Outcome
from social.moderation.services.decisions import Ruling

MAX_DAYS: Final = 365


class StaffText(forms.CharField):
    """A text that the author or the reporter reads."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(max_length=MAX_DETAILS, widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}), **kwargs)


class DecisionForm(forms.Form):
    """A decision."""

    action = forms.ChoiceField(choices=Action)
    basis = forms.ChoiceField(label=gettext_lazy("Based on"), choices=Basis, initial=Basis.TERMS)
    rule = forms.CharField(label=gettext_lazy("Rule or law"), max_length=MAX_RULE, required=False)
    facts = StaffText(
        label=gettext_lazy("Facts"),
        required=False,
        help_text=gettext_lazy("The author reads them. Do not name the reporter."),
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days of a suspension"), min_value=1, max_value=MAX_DAYS, initial=7, required=False
    )
    hides_post = forms.BooleanField(label=gettext_lazy("With a warning or a suspension, hide the post"), required=False)

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if kind != Kind.POST:
            del self.fields["hides_post"]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        action = given.get("action")
        # The author of what was dismissed gets no reasons.
        if action and action != Action.DISMISS and not given.get("facts") and "facts" not in self.errors:
            self.add_error("facts", _("The author must know the facts."))
        if given.get("basis") == Basis.LAW and not given.get("rule") and "rule" not in self.errors:
            self.add_error("rule", _("Name the law."))
        if action == Action.SUSPEND and not given.get("days") and "days" not in self.errors:
            self.add_error("days", _("Say for how many days."))
        return given

    def make_ruling(self) -> Ruling:
        """Return the decision of a valid form."""
        given = self.cleaned_data
        return Ruling(
            Action(given["action"]),
            Basis(given["basis"]),
            given["rule"],
            given["facts"],
            given["days"] or 0,
            # Only these two leave the post as it is.
            given.get("hides_post", False) and given["action"] in (Action.WARN, Action.SUSPEND),
        )

    @property
    def shown_fields(self) -> Sequence[forms.BoundField]:
        """Return the fields without the choice of the decision."""
        return [field for field in self if field.name != "action"]


class AppealDecisionForm(forms.Form):
    """A decision about an appeal."""

    outcome = forms.ChoiceField(choices=Outcome)
    answer = StaffText(label=gettext_lazy("Answer"))

    @property
    def shown_fields(self) -> Sequence[forms.BoundField]:
        """Return the fields without the choice of the result."""
        return [self["answer"]]
