"""Template tags and filters of the login report."""

from django import template
from django.utils.formats import number_format

from loginlog import report

register = template.Library()
register.filter("shade", report.compute_shade)
register.simple_tag(report.format_period, name="period_name")


@register.filter
def percent(share: float) -> str:
    """Return a share as a percentage: 0.5 becomes "50%"."""
    return f"{number_format(round(share * 100))}%"


@register.simple_tag
def same_report(question: report.ReportQuery, **other: str) -> str:
    """Return the query string of the same report with other choices."""
    return question.query(**other)


register.filter("type_name", report.format_type)
