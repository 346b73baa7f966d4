"""Forms for shelves."""

from datetime import date, timedelta
from datetime import timezone as fixed_zone
from typing import Any, Final

from django import forms
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from catalog.shelves.models import MAX_GOAL_BOOKS, STARS, Privacy, Shelf
from catalog.shelves.records import write_stars
from common import clock

FIRST_DATE: Final = date(1000, 1, 1)
EASTERNMOST: Final = fixed_zone(timedelta(hours=14))  # the time zone in which a day begins first


def get_last_date() -> date:
    """Return the last date on which a reader may have read: today, wherever the reader is."""
    return timezone.localdate(clock.now(), EASTERNMOST)


class StarsField(forms.TypedChoiceField):
    """A rating in stars, such as "3.5"; None if it is empty. The value is in halves of a star."""

    def __init__(self) -> None:
        halves = {write_stars(number): number for number in STARS}
        choices = [(text, text) for text in halves]
        super().__init__(choices=choices, coerce=halves.__getitem__, empty_value=None, required=False)


class EntryForm(forms.Form):
    """A change of an entry. ``action`` selects the fields that count."""

    action = forms.ChoiceField(choices=[(name, name) for name in ("shelf", "rate", "dates", "remove")])
    shelf = forms.TypedChoiceField(choices=Shelf, coerce=Shelf, required=False)
    stars = StarsField()
    started_on = forms.DateField(required=False)
    finished_on = forms.DateField(required=False)

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        started, finished = given.get("started_on"), given.get("finished_on")
        if given.get("action") == "shelf" and not given.get("shelf"):
            self.add_error("shelf", _("Choose a shelf."))
        if given.get("action") == "dates" and started and finished and finished < started:
            self.add_error("finished_on", _("The finish date cannot be before the start date."))
        for name in ("started_on", "finished_on"):
            day = given.get(name)
            if day:
                self._check_date(name, day)
        return given

    def _check_date(self, name: str, day: date) -> None:
        if day < FIRST_DATE:
            self.add_error(name, _("This date is too early."))
        if day > get_last_date():
            self.add_error(name, _("This date is in the future."))


class GoalForm(forms.Form):
    """The goal of a year, or an empty field for no goal."""

    books = forms.IntegerField(
        label=gettext_lazy("Books to read this year"), min_value=1, max_value=MAX_GOAL_BOOKS, required=False
    )


class PrivacyForm(forms.Form):
    """The privacy of a shelf."""

    privacy = forms.TypedChoiceField(choices=Privacy, coerce=Privacy)
