"""Emails to reporters and authors, as plain text.

A message to the worker names only a row; the worker reads it in SQL, which must confirm what the email tells, because
other programs may write to the broker. No email contains a text of a visitor, and each address gets a limited number a
day: visitors choose the address, and could send text to other people.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.utils.translation import override

from accounts.mail import queue_task
from accounts.models import User
from accounts.ratelimit import count_event, give_back
from common.paths import make_path
from common.text import fold_address
from mirror.utils import after_commit
from social.moderation.models import Action, Appeal, Decision, Report

logger = logging.getLogger("moderation")
DAY_SECONDS: Final = 86_400


class Email(NamedTuple):
    """The recipient and the values of the templates. path: the page that has the whole."""

    to: str
    name: str
    path: str
    values: Mapping[str, Any]


def queue_email(about: str, pk: int, language: str) -> None:
    """Let a worker send an email after the commit. Never raises, and never waits for the mail server."""
    assert about in _FINDERS, about
    after_commit(queue_task, "moderation.tasks.send_email", about, pk, language)


def send_email(about: str, pk: int, language: str) -> int:
    """Send an email, unless its row or address is missing. Return the number of sent emails.

    Raises OSError, the base of smtplib's errors, if the mail server refuses it.
    """
    find = _FINDERS.get(about)
    found = find(pk) if find else None
    if found is None or not found.to:
        return 0
    limit = ("moderation-emails", fold_address(found.to))
    if count_event(*limit, settings.MODERATION_EMAILS, DAY_SECONDS):
        logger.warning("%s %s: its address has had too many emails today", about, pk)
        return 0
    try:
        return render_email(about, found, language).send()
    except OSError:
        give_back(*limit)
        raise


def render_email(about: str, email: Email, language: str) -> EmailMessage:
    """Return an unsent email, rendered from ``moderation/mails/<about>``."""
    context = {"site": settings.SITE_URL, "name": email.name, "path": email.path, **email.values}
    # The language comes from the broker, to which other programs may write.
    codes = dict(settings.LANGUAGES)
    with override(language if language in codes else settings.LANGUAGE_CODE):
        subject = render_to_string(f"moderation/mails/{about}_subject.txt", context)
        text = render_to_string(f"moderation/mails/{about}.txt", context)
    return EmailMessage(" ".join(subject.split()), text, to=[email.to])


def _find_report(pk: int) -> Email | None:
    report = Report.objects.select_related("reporter").filter(pk=pk).first()
    return None if report is None else _make_report_email(report, {"report": report})


def _find_result(pk: int) -> Email | None:
    report = Report.objects.select_related("reporter", "case").filter(pk=pk, case__closed_at__isnull=False).first()
    decision = None if report is None else report.case.decisions.order_by("-pk").first()
    if report is None or decision is None:
        return None
    values = {"report": report, "is_dismissed": decision.action == Action.DISMISS, "days": settings.APPEAL_DAYS}
    return _make_report_email(report, values)


def _find_decision(pk: int) -> Email | None:
    found = Decision.objects.select_related("case__author").exclude(action=Action.DISMISS).filter(pk=pk).first()
    author = None if found is None else found.case.author
    if found is None or author is None:
        return None
    path = make_path("moderation:decision", found.key)
    return Email(author.email, author.username, path, {"decision": found, "days": settings.APPEAL_DAYS})


def _find_appeal(pk: int) -> Email | None:
    found = Appeal.objects.select_related("decision__case__author", "report__reporter")
    appeal = found.filter(pk=pk, decided_at__isnull=False).first()
    if appeal is None:
        return None
    if appeal.report is not None:
        return _make_report_email(appeal.report, {"appeal": appeal})
    author = appeal.decision.case.author
    path = make_path("moderation:decision", appeal.decision.key)
    return None if author is None else Email(author.email, author.username, path, {"appeal": appeal})


def _make_report_email(report: Report, values: Mapping[str, Any]) -> Email:
    """Return an email to the reporter. A visitor's name is a text of a visitor, and left out."""
    reporter: User | None = report.reporter
    to, name = (reporter.email, reporter.username) if reporter else (report.email, "")
    return Email(to, name, make_path("moderation:report_status", report.key), values)


_FINDERS: Final[Mapping[str, Callable[[int], Email | None]]] = {
    "received": _find_report,
    "result": _find_result,
    "decision": _find_decision,
    "appeal": _find_appeal,
}
