"""Working days, and the days of arrival in words."""

from datetime import date, timedelta
from typing import Final

from django.utils.formats import date_format
from django.utils.translation import gettext as _

WEEKEND: Final = (5, 6)  # Saturday and Sunday, as ``date.weekday`` counts
WEEK_DAYS: Final = 7


def add_working_days(start: date, days: int) -> date:
    """Return the working day so many working days after a day. Public holidays count as working days."""
    day = start
    while days > 0 or day.weekday() in WEEKEND:
        day += timedelta(days=1)
        if day.weekday() not in WEEKEND:
            days -= 1
    return day


def describe_arrival(first: date | None, last: date | None, today: date) -> str:
    """Return the days of arrival in words, such as "arrives Tue to Thu", or "" if they are unknown.

    Days that are not in the coming week have their date, such as "arrives Dec 7 to 9".
    """
    if first is None or last is None:
        return ""
    is_near = (last - today).days < WEEK_DAYS and first > today
    begin = date_format(first, "D" if is_near else "MONTH_DAY_FORMAT")
    if first == last:
        return _("arrives %(day)s") % {"day": begin}
    in_one_month = (first.year, first.month) == (last.year, last.month)
    end = date_format(last, "D" if is_near else "DAY_FORMAT" if in_one_month else "MONTH_DAY_FORMAT")
    return _("arrives %(first)s to %(last)s") % {"first": begin, "last": end}
