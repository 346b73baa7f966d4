"""Functions and filters of templates: the login report."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from django.utils.formats import number_format

from loginlog.reports import staff


def percent(share: float) -> str:
    """Return a share as a percentage: 0.5 becomes "50%"."""
    return f"{number_format(round(share * 100))}%"


def same_report(question: staff.ReportQuery, **other: str) -> str:
    """Return the query string of the same report with other choices."""
    return question.query(**other)


FUNCTIONS: Final[Mapping[str, Any]] = {"period_name": staff.format_period, "same_report": same_report}
FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "percent": percent,
    "shade": staff.compute_shade,
    "type_name": staff.format_type,
}
