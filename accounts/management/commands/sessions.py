"""``manage.py sessions``: enforce the limit on the number of sessions."""

from argparse import ArgumentTypeError
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.sessions import cleaning
from mirror.management import OK, Progress, ReportingCommand, brief


def parse_limit(text: str) -> int:
    """Return the text as a number of sessions. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdecimal()):
        raise ArgumentTypeError(_("%(text)s is not a valid number of sessions") % {"text": repr(text)})
    return int(text)


class Command(ReportingCommand):
    """One action: ``clean``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Show and end sessions.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("keep only the newest sessions, and end expired ones")
        clean = brief(actions.add_parser("clean", help=text, description=text))
        limit = _("number of sessions to keep (default: %(default)s)")
        clean.add_argument("--limit", type=parse_limit, default=settings.SESSION_LIMIT, metavar="N", help=limit)
        clean.add_argument("--dry-run", action="store_true", help=_("only show how many would be ended"))
        clean.add_argument("--json", action="store_true", help=_("print the report as JSON"))

    def run(self, **options: Any) -> int:
        limit, json = options["limit"], options["json"]
        if options["dry_run"]:
            done = cleaning.preview_cleaning(limit)
            report = {"over": done.over, "expired": done.expired, "limit": limit, "left": done.left}
            self.report(report, [_describe_preview(done)], json)
        else:
            with Progress(self.stderr, _("ended")) as progress:
                done = cleaning.clean_sessions(limit, progress=progress)
            self.report(asdict(done), [_describe_report(done)], json)
        return OK


def _describe_report(done: cleaning.CleaningReport) -> str:
    """Return a one-line report of a run."""
    summary = ngettext("%(count)s session ended", "%(count)s sessions ended", done.removed + done.expired)
    text = _(
        "%(summary)s: %(removed)s beyond the limit of %(limit)s, %(expired)s expired; %(strays)s strays; %(left)s left"
    )
    return text % {**asdict(done), "summary": summary % {"count": done.removed + done.expired}}


def _describe_preview(done: cleaning.CleaningReport) -> str:
    """Return a one-line report of a dry run."""
    text = _("%(left)s sessions: %(over)s beyond the limit of %(limit)s, %(expired)s expired")
    return text % asdict(done)
