"""Forms for shelves."""

from datetime import date, timedelta
from datetime import timezone as fixed_zone
from typing import Any, Final

from django import forms
from django.db.models import TextChoices
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from catalog.shelves.models import MAX_GOAL_BOOKS, MAX_NOTE_LENGTH, MAX_PAGES, STARS, Precision, Privacy, Shelf
from catalog.shelves.records import write_stars
from catalog.shelves.services import DatesOutOfOrder, GivenDates, ReadingDates
from common import clock

FIRST_DATE: Final = date(1000, 1, 1)
EASTERNMOST: Final = fixed_zone(timedelta(hours=14))  # the time zone in which a day begins first


def get_today() -> date:
    """Return the present date in the zone that the reader chose, else in that of the site."""
    return timezone.localdate(clock.now())


def get_last_date() -> date:
    """Return the last date on which a reader may have read: today, wherever the reader is."""
    return timezone.localdate(clock.now(), EASTERNMOST)


class When(TextChoices):
    """What a reader tells about the end of a reading."""

    TODAY = "today", gettext_lazy("Today")
    DAY = "day", gettext_lazy("On a day")
    YEAR = "year", gettext_lazy("In a year")
    UNKNOWN = "unknown", gettext_lazy("I do not know when")


class Unit(TextChoices):
    """The unit of progress."""

    PAGE = "page", pgettext_lazy("unit of progress", "page")
    PERCENT = "percent", "%"


class StarsField(forms.TypedChoiceField):
    """A rating in stars, such as "3.5"; None if it is empty. The value is in halves of a star."""

    def __init__(self) -> None:
        halves = {write_stars(number): number for number in STARS}
        choices = [(text, text) for text in halves]
        super().__init__(choices=choices, coerce=halves.__getitem__, empty_value=None, required=False)


class DatesForm(forms.Form):
    """Dates of a reading. ``cleaned_data["dates"]`` has them as ``GivenDates``: a missing field changes nothing.

    when: tells which of the other fields counts for the end; without it, the one that is filled in does. shown_when:
    the choice that the form showed.
    """

    started_on = forms.DateField(required=False)
    when = forms.ChoiceField(choices=When, required=False)
    shown_when = forms.ChoiceField(choices=When, required=False)
    finished_on = forms.DateField(required=False)
    finished_year = forms.IntegerField(required=False)

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        for name in ("started_on", "finished_on"):
            day = given.get(name)
            if day:
                self._check_date(name, day)
        if not self.errors:
            given["dates"] = self._find_dates(given)
        return given

    def _find_dates(self, given: dict[str, Any]) -> GivenDates:
        started = {"started_on": given["started_on"]} if "started_on" in self.data else {}
        dates = {**started, **self._find_end(given)}
        try:
            ReadingDates().change(dates)
        except DatesOutOfOrder as error:
            self.add_error("finished_on", str(error))
        return dates

    def _find_end(self, given: dict[str, Any]) -> GivenDates:
        match self._find_when(given):
            case When.TODAY:
                # A reader for whom tomorrow has begun may have started then.
                return _make_end(max(get_today(), given["started_on"] or get_today()))
            case When.YEAR:
                return self._find_year(given)
            case When.UNKNOWN:
                return _make_end(None)
            case When.DAY:
                return self._find_day(given)
        return {}

    def _find_when(self, given: dict[str, Any]) -> When | None:
        """Return what tells the end, or None if the end stays as it is."""
        chosen = given["when"]
        # Browsers without scripts do not choose for a reader who only enters a date or a year.
        if chosen and not chosen == given["shown_when"] == When.UNKNOWN:
            return When(chosen)
        if given["finished_on"]:
            return When.DAY
        if given["finished_year"] is not None:
            return When.YEAR
        return When.UNKNOWN if chosen or "finished_on" in self.data else None

    def _find_day(self, given: dict[str, Any]) -> GivenDates:
        if given["finished_on"] is None:
            self.add_error("finished_on", _("Enter a date."))
            return {}
        return _make_end(given["finished_on"])

    def _find_year(self, given: dict[str, Any]) -> GivenDates:
        year = given["finished_year"]
        if year is None or not FIRST_DATE.year <= year <= get_last_date().year:
            self.add_error("finished_year", _("Enter a year."))
            return {}
        return _make_end(*ReadingDates.of_year(year)[1:])

    def _check_date(self, name: str, day: date) -> None:
        if day < FIRST_DATE:
            self.add_error(name, _("This date is too early. Choose a later one."))
        if day > get_last_date():
            self.add_error(name, _("The date cannot be in the future."))


class EntryForm(DatesForm):
    """A change of an entry. ``action`` selects the fields that count."""

    action = forms.ChoiceField(
        choices=[(name, name) for name in ("shelf", "rate", "dates", "progress", "pages", "remove")]
    )
    shelf = forms.TypedChoiceField(choices=Shelf, coerce=Shelf, required=False)
    stars = StarsField()
    amount = forms.IntegerField(min_value=0, max_value=MAX_PAGES, required=False)
    unit = forms.ChoiceField(choices=Unit, required=False)
    note = forms.CharField(max_length=MAX_NOTE_LENGTH, required=False)
    pages = forms.IntegerField(min_value=1, max_value=MAX_PAGES, required=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("action") == "shelf" and not given.get("shelf"):
            self.add_error("shelf", _("Choose a shelf."))
        # An empty field removes the rating. Without scripts the form has no field while no star is chosen.
        if given.get("action") == "rate" and "stars" not in self.data:
            self.add_error("stars", _("Choose a rating."))
        if given.get("action") == "progress":
            self._check_progress(given)
        return given

    def _check_progress(self, given: dict[str, Any]) -> None:
        amount = given.get("amount")
        if amount is None and "amount" not in self.errors:
            self.add_error("amount", _("Enter a page or a percentage."))
        if given.get("unit") == Unit.PERCENT and amount is not None and amount > 100:
            self.add_error("amount", _("A percentage is at most 100."))


class ReadingForm(DatesForm):
    """A change of a book's earlier readings or of the history of progress. ``row``: the id of the changed row."""

    action = forms.ChoiceField(choices=[(name, name) for name in ("add", "change", "delete", "delete_progress")])
    row = forms.IntegerField(required=False)
    is_abandoned = forms.BooleanField(required=False)

    def clean(self) -> dict[str, Any]:
        given = super().clean()
        if given.get("action") != "add" and given.get("row") is None:
            self.add_error("row", _("Choose a reading."))
        return given


class GoalForm(forms.Form):
    """The goal of a year, or an empty field for no goal."""

    books = forms.IntegerField(
        label=gettext_lazy("Books to read this year"), min_value=1, max_value=MAX_GOAL_BOOKS, required=False
    )
    # That of the page, which may be of last year.
    year = forms.IntegerField(required=False)

    def clean_year(self) -> int:
        """Return the year that the goal is for: this one, or the last one."""
        present = get_today().year
        return present - 1 if self.cleaned_data["year"] == present - 1 else present


class PrivacyForm(forms.Form):
    """The privacy of a shelf."""

    privacy = forms.TypedChoiceField(choices=Privacy, coerce=Privacy)


def _make_end(day: date | None, precision: str = Precision.DAY) -> GivenDates:
    return {"finished_on": day, "finished_precision": precision}


def find_when(finished_on: str | None, precision: str) -> When:
    """Return the choice that shows a reading's end."""
    if finished_on is None:
        return When.UNKNOWN
    return When.YEAR if precision == Precision.YEAR else When.DAY
