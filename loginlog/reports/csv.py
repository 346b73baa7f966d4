"""The login report as CSV, for spreadsheets and programs."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Final

from loginlog.reports.staff import Report

# Prefixes that spreadsheets interpret as the start of a formula.
FORMULA_PREFIXES: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%")


def escape_formula(value: object) -> object:
    """Return a value that no spreadsheet executes: text that would start a formula gets a leading apostrophe."""
    if isinstance(value, str) and value.lstrip(" ").startswith(FORMULA_PREFIXES):
        return "'" + value
    return value


def _write_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    made = io.StringIO()
    writer = csv.writer(made)
    writer.writerow(header)
    writer.writerows([escape_formula(value) for value in row] for row in rows)
    return made.getvalue()


def export_activity(report: Report) -> str:
    """Return CSV with a line for each day and type: day, type, dau, wau, mau. Type "all" counts each user once."""
    rows = [
        (day, found.user_type or "all", found.dau[i], found.wau[i], found.mau[i])
        for i, day in enumerate(report.days)
        for found in report.activity
    ]
    return _write_csv(["day", "type", "dau", "wau", "mau"], rows)


def export_retention(report: Report) -> str:
    """Return CSV with a line for each cohort and period.

    Columns: the cohort's first and last day, its size, the number of periods later, users, and whether it is open.
    """
    rows = [
        (cohort.period.first, cohort.period.last, cohort.size, later, cell.count, int(cell.open))
        for cohort in report.cohorts
        for later, cell in enumerate(cohort.cells)
    ]
    return _write_csv(["cohort_first", "cohort_last", "size", "later", "users", "unfinished"], rows)
