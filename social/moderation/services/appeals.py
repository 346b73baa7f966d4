"""Appeals against decisions, by the author or by a reporter, within six months and once each."""

from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import get_language

from accounts.deletion import hold_deletion
from accounts.models import User
from common import clock
from common.database import repeat_after_conflict
from social.moderation.emails import queue_email
from social.moderation.models import Action, Appeal, Decision, Outcome, Report
from social.moderation.services.decisions import make_notice_path, reopen_case, reverse_decision
from social.moderation.services.errors import AlreadyDecided, NotAllowed, NotAppealable

PERMISSION = "moderation.change_appeal"


def get_last_day(decision: Decision) -> datetime:
    """Return the end of the time for an appeal."""
    return decision.made_at + timedelta(days=settings.APPEAL_DAYS)


def may_appeal(decision: Decision, report: Report | None = None) -> bool:
    """Return whether the author of what was reported, or the reporter of ``report``, may still appeal."""
    has_appealed = decision.appeals.filter(report=report).exists()
    return clock.now() < get_last_day(decision) and decision.reversed_at is None and not has_appealed


@repeat_after_conflict
def appeal_decision(decision: Decision, text: str, report: Report | None = None) -> Appeal:
    """Appeal against a decision, or return the same appeal that was made before. Raises NotAppealable."""
    if may_appeal(decision, report):
        # The second of two clicks at the same time
        with suppress(IntegrityError), transaction.atomic():
            made = Appeal.objects.create(decision=decision, report=report, text=text, language=get_language() or "")
            _hold_deletion(made, is_held=True)
            return made
    if found := decision.appeals.filter(report=report, text=text).first():
        return found
    raise NotAppealable


def _hold_deletion(appeal: Appeal, *, is_held: bool) -> None:
    """Hold the deletion of the account against which the author appeals, or let it go on."""
    decision = appeal.decision
    author = decision.case.author_id
    if decision.action == Action.CLOSE_ACCOUNT and appeal.report is None and author is not None:
        hold_deletion(author, make_notice_path(decision), is_held=is_held)


def may_decide_appeal(appeal: Appeal, staff: User) -> bool:
    """Return whether this member of staff may decide an appeal: not about themselves, nor about their own decision.

    The only member of staff with the permission decides about both decisions.
    """
    decision = appeal.decision
    reporter = appeal.report.reporter_id if appeal.report else None
    # Also not as the reporter: a member of staff may have reported the post as a reader.
    if not staff.has_perm(PERMISSION) or staff.pk in (decision.case.author_id, reporter):
        return False
    return decision.staff_id != staff.pk or not _find_deciders().exclude(pk=staff.pk).exists()


def _find_deciders() -> QuerySet[User]:
    everyone = User.objects.with_perm(PERMISSION, backend="django.contrib.auth.backends.ModelBackend")
    return everyone.filter(is_staff=True)


@repeat_after_conflict
def decide_appeal(appeal_id: int, outcome: Outcome, answer: str, *, by: User) -> Appeal:
    """Decide an appeal and send the result. Granted, it reverses the decision; that of a reporter reopens the case.

    Raises a subclass of Refused.
    """
    with transaction.atomic():
        appeal = Appeal.objects.select_for_update().filter(pk=appeal_id, decided_at=None).first()
        if appeal is None:
            raise AlreadyDecided
        if not may_decide_appeal(appeal, by):
            raise NotAllowed
        appeal.outcome, appeal.answer, appeal.staff, appeal.decided_at = outcome, answer, by, clock.now()
        appeal.save(update_fields=["outcome", "answer", "staff", "decided_at"])
        # A reporter's appeal leaves the decision as it is, because its author has not been heard about another one.
        if outcome == Outcome.GRANTED and appeal.report is None:
            reverse_decision(appeal.decision)
        elif outcome == Outcome.GRANTED:
            reopen_case(appeal.decision.case)
        else:
            _hold_deletion(appeal, is_held=False)
        queue_email("appeal", appeal.pk, appeal.language)
    return appeal
