"""The report as CSV, for spreadsheets and programs."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

from loginlog.report import Report

# What spreadsheets take for the start of a formula.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def safe(value: object) -> object:
    """A value that no spreadsheet runs: text that would begin a formula gets an apostrophe before it."""
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA):
        return "'" + value
    return value


def _text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(header)
    writer.writerows([safe(value) for value in row] for row in rows)
    return made.getvalue()


def activity(report: Report) -> str:
    """A line for each day and type: day, type, dau, wau, mau. Type "all": each person once."""
    rows = [
        (day, found.user_type or "all", found.dau[i], found.wau[i], found.mau[i])
        for i, day in enumerate(report.days)
        for found in report.activity
    ]
    return _text(["day", "type", "dau", "wau", "mau"], rows)


def retention(report: Report) -> str:
    """A line for each cohort and period: its first and last day, its size, how many periods later, users, open."""
    rows = [
        (cohort.period.first, cohort.period.last, cohort.size, later, cell.count, int(cell.open))
        for cohort in report.cohorts
        for later, cell in enumerate(cohort.cells)
    ]
    return _text(["cohort_first", "cohort_last", "size", "later", "users", "unfinished"], rows)
