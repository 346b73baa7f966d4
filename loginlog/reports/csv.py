"""The login report as CSV, for spreadsheets and programs."""

from common.csv import write_lines
from loginlog.reports.staff import Report


def export_activity(report: Report) -> str:
    """Return CSV with a line for each day and type: day, type, dau, wau, mau. Type "all" counts each user once."""
    rows = []
    for i, day in enumerate(report.days):
        for found in report.activity:
            numbers = (found.dau[i], found.wau[i], found.mau[i])
            rows.append((day, found.user_type or "all", *numbers))
    return "".join(write_lines(["day", "type", "dau", "wau", "mau"], rows))


def export_retention(report: Report) -> str:
    """Return CSV with a line for each cohort and period.

    Columns: the cohort's first and last day, its size, the number of periods later, users, and whether it is open.
    """
    rows = []
    for cohort in report.cohorts:
        first, last = cohort.period.first, cohort.period.last
        for later, cell in enumerate(cohort.cells):
            rows.append((first, last, cohort.size, later, cell.count, int(cell.open)))
    return "".join(write_lines(["cohort_first", "cohort_last", "size", "later", "users", "unfinished"], rows))
