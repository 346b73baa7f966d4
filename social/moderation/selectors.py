"""Read cases, reports, decisions and appeals, all from SQL."""

from collections.abc import Collection
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import Count, Exists, Min, OuterRef, Prefetch, QuerySet

from mirror.admin import count_rows
from social.moderation.models import AUTHORED_KINDS, Action, Appeal, Case, Decision, Report

MAX_LISTED: Final = 100  # reports and decisions on a reader's page
MIN_DECIDED: Final = 5  # reports of a reader, before staff see that most were dismissed


class OpenWork(NamedTuple):
    """The numbers of open cases and appeals."""

    cases: int
    appeals: int


class ReporterHistory(NamedTuple):
    """The numbers of a reader's decided and of their dismissed reports."""

    decided: int = 0
    dismissed: int = 0

    @property
    def is_mostly_dismissed(self) -> bool:
        """Return whether staff should read this reader's reports with care."""
        return self.decided >= MIN_DECIDED and self.dismissed * 2 > self.decided


def list_reports_of(user_id: int) -> QuerySet[Report]:
    """Return a reader's newest reports with their cases and decisions. Takes 2 queries."""
    decisions = Prefetch("case__decisions", Decision.objects.order_by("pk"))
    found = Report.objects.filter(reporter=user_id).select_related("case").prefetch_related(decisions)
    return found.order_by("-pk")[:MAX_LISTED]


def list_decisions_about(user_id: int) -> QuerySet[Decision]:
    """Return the newest decisions about a reader, without dismissed cases."""
    found = Decision.objects.filter(case__author=user_id).exclude(action=Action.DISMISS).select_related("case")
    return found.order_by("-pk")[:MAX_LISTED]


def find_report(key: str) -> Report | None:
    """Return the report with this key."""
    return Report.objects.select_related("case").filter(key=key).first()


def find_decision(key: str) -> Decision | None:
    """Return the decision with this key that has an author to tell, also after the deletion of the account."""
    found = Decision.objects.select_related("case__author").exclude(action=Action.DISMISS)
    return found.filter(key=key, case__kind__in=AUTHORED_KINDS).first()


def find_last_decision(case: Case) -> Decision | None:
    """Return the decision of a closed case."""
    return case.decisions.order_by("-pk").first() if case.closed_at else None


def count_open_work() -> OpenWork:
    """Return the numbers of open cases and appeals."""
    cases = count_rows(Case.objects.filter(closed_at=None))
    return OpenWork(cases, count_rows(Appeal.objects.filter(decided_at=None)))


def read_open_cases() -> tuple[int, datetime | None]:
    """Return the number of open cases, and when the oldest one was opened. One statement."""
    found = Case.objects.filter(closed_at=None).aggregate(Count("pk"), Min("opened_at"))
    return found["pk__count"], found["opened_at__min"]


def read_reporter_histories(user_ids: Collection[int]) -> dict[int, ReporterHistory]:
    """Return what became of the reports of these readers, in 2 queries."""
    reports = Report.objects.filter(reporter__in=user_ids, case__closed_at__isnull=False).order_by()
    decided = dict(reports.values_list("reporter").annotate(Count("pk")))
    # A case that was opened again after an appeal of the reporter has an earlier dismissal.
    acted = Decision.objects.filter(case=OuterRef("case")).exclude(action=Action.DISMISS)
    dismissed = dict(reports.filter(~Exists(acted)).values_list("reporter").annotate(Count("pk")))
    return {pk: ReporterHistory(decided.get(pk, 0), dismissed.get(pk, 0)) for pk in user_ids}
