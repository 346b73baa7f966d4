"""Template tags and filters of the login report."""

from django import template
from django.utils.formats import number_format

from loginlog.reports import staff

register = template.Library()
register.filter("shade", staff.compute_shade)
register.simple_tag(staff.format_period, name="period_name")


@register.filter
def percent(share: float) -> str:
    """Return a share as a percentage: 0.5 becomes "50%"."""
    return f"{number_format(round(share * 100))}%"


@register.simple_tag
def same_report(question: staff.ReportQuery, **other: str) -> str:
    """Return the query string of the same report with other choices."""
    return question.query(**other)


register.filter("type_name", staff.format_type)
