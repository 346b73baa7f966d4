"""``manage.py views``: how often books are looked at."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.management.base import OK, ReportingCommand, brief
from shop.viewing.halving import rescale


class Command(ReportingCommand):
    """One action: ``rescale``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("How often books are looked at.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("trim and halve what was counted, if five minutes are over")
        action = brief(actions.add_parser("rescale", help=text, description=text))
        action.add_argument("--json", action="store_true", help=_("report in JSON"))

    def run(self, **options: Any) -> int:
        done = rescale()
        text = ngettext("halved for %(count)s period", "halved for %(count)s periods", done.periods)
        removed = ngettext("%(count)s book removed", "%(count)s books removed", done.removed) % {"count": done.removed}
        line = f"{text % {'count': done.periods}}, {removed}" if done.periods else _("nothing is due")
        self.report(done._asdict(), [line], options["json"])
        return OK
