"""Reports: each joins the open case of its target, or opens one."""

from typing import NamedTuple

from django.db import transaction
from django.utils.translation import get_language

from common.database import repeat_after_conflict
from social.moderation.emails import queue_email
from social.moderation.models import SEVERITIES, Case, Reason, Report, Severity
from social.moderation.targets import Target


class Reporter(NamedTuple):
    """A reader (``user_id``), or a visitor with a name and an address."""

    user_id: int | None
    name: str = ""
    email: str = ""


@repeat_after_conflict
def report_target(
    target: Target, reporter: Reporter, reason: Reason, details: str = "", *, is_confirmed: bool = True
) -> Report:
    """Report a target. Return the reader's report in the open case if there is one.

    is_confirmed: send the reporter a confirmation. Staff who open a case need none.
    """
    with transaction.atomic():
        severity = SEVERITIES.get(reason, Severity.LOW)
        # Locked: no decision closes the case while the report joins it.
        case, _is_new = Case.objects.select_for_update().get_or_create(
            kind=target.kind, target=target.key, closed_at=None, defaults={"author_id": target.author}
        )
        # Visitors are not compared: an address would open the report of its owner to everyone who knows it.
        if reporter.user_id is not None:
            found = case.reports.filter(reporter=reporter.user_id).first()
            if found is not None:
                return found
        if severity > case.severity:
            case.severity = severity
            case.save(update_fields=["severity"])
        made = Report.objects.create(
            case=case,
            reporter_id=reporter.user_id,
            name=reporter.name,
            email=reporter.email,
            reason=reason,
            details=details,
            copy=target.text,
            language=get_language() or "",
        )
        if is_confirmed:
            queue_email("received", made.pk, made.language)
    return made
