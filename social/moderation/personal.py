"""The personal data that this application keeps."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.db import transaction

from accounts.personal import Part, erase_nothing, make_part, register
from common.database import SLICE_SIZE, repeat_after_conflict
from social.moderation.models import Appeal, Case, Decision, Report
from social.moderation.services.retention import erase_cases

REPORT_COLUMNS: Final = ["id", "case__kind", "case__target", "reason", "details", "created_at", "case__closed_at"]
DECISION_COLUMNS: Final = ["case__kind", "action", "basis", "rule", "facts", "made_at", "ends_at", "reversed_at"]
APPEAL_COLUMNS: Final = ["decision_id", "text", "made_at", "outcome", "answer", "decided_at"]


def register_parts() -> None:
    """Register the reports of a reader, and the cases about a reader with their decisions."""
    staff = "Members of staff act for the site."
    register(make_part("appeals_of_reporters", Appeal, "report__reporter", APPEAL_COLUMNS))
    register(Part("appeals", _read_own_appeals, erase_nothing))  # deleted with the cases
    register(make_part("decisions", Decision, "case__author", DECISION_COLUMNS, erase=erase_nothing))
    reporter = frozenset(["moderation.Report.reporter"])
    read = make_part("reports", Report, "reporter", REPORT_COLUMNS).read
    register(Part("reports", read, _forget_reporter, reporter))
    reason = "They name other people. The decisions are a part of their own."
    register(make_part("cases", Case, "author", reason=reason, erase=erase_cases))
    # SQL forgets who decided when the user's row is deleted.
    register(make_part("decided_cases", Decision, "staff", reason=staff, erase=erase_nothing))
    register(make_part("decided_appeals", Appeal, "staff", reason=staff, erase=erase_nothing))


def _read_own_appeals(user_id: int) -> Iterator[Mapping[str, Any]]:
    """Yield the appeals of an author. Those of reporters in the same cases are other people's."""
    found = Appeal.objects.filter(decision__case__author=user_id, report=None).order_by("pk")
    yield from found.values(*APPEAL_COLUMNS).iterator()


@repeat_after_conflict
def _forget_reporter(user_id: int) -> bool:
    """Leave reports without the reporter and the explanation, a slice at a time. Return whether more may be left."""
    with transaction.atomic():
        ids = list(Report.objects.filter(reporter=user_id).values_list("pk", flat=True)[:SLICE_SIZE])
        Report.objects.filter(pk__in=ids).update(reporter=None, details="")
    return len(ids) == SLICE_SIZE
