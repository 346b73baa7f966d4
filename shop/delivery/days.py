"""Working days, and the days of arrival in words."""

from datetime import date, datetime, timedelta
from typing import Final

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

WEEKEND: Final = (5, 6)  # Saturday and Sunday, as ``date.weekday`` counts
WEEK_DAYS: Final = 7


def get_shop_day(moment: datetime) -> date:
    """Return the day in the shop's time zone, and not in that of the visitor."""
    return timezone.localdate(moment, timezone.get_default_timezone())


def add_working_days(start: date, days: int) -> date:
    """Return the working day so many working days after a day. Public holidays count as working days."""
    day = start
    while days > 0 or day.weekday() in WEEKEND:
        day += timedelta(days=1)
        if day.weekday() not in WEEKEND:
            days -= 1
    return day


def describe_arrival(first: date | None, last: date | None, today: date | None) -> str:
    """Return the days of arrival in words, such as "arrives Tue to Thu", or "" if they are unknown.

    Days that are not in the coming week have their date, such as "arrives 7 to 9 Dec". today: None for a text that is
    also read later, such as an email: all days have their date.
    """
    if first is None or last is None:
        return ""
    is_near = today is not None and (last - today).days < WEEK_DAYS and first > today
    if is_near:
        forms = ("D", "D")
    elif (first.year, first.month) == (last.year, last.month):
        forms = ("RANGE_FIRST_FORMAT", "RANGE_LAST_FORMAT")
    else:
        forms = ("MONTH_DAY_FORMAT", "MONTH_DAY_FORMAT")
    if first == last:
        return _("arrives %(day)s") % {"day": date_format(first, "D" if is_near else "MONTH_DAY_FORMAT")}
    begin, end = date_format(first, forms[0]), date_format(last, forms[1])
    return _("arrives %(first)s to %(last)s") % {"first": begin, "last": end}
