"""``manage.py accounts``: help for people who cannot log in."""

from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import lockout
from accounts.lockout.limits import counted_name
from accounts.ratelimit import address_part
from mirror.management.base import OK, ReportingCommand, brief


class Command(ReportingCommand):
    """One action: ``unlock``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Help for people who cannot log in.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("forget failed logins: all, or those of a name, of an address, or of a name from an address")
        unlock = brief(actions.add_parser("unlock", help=text, description=text))
        unlock.add_argument("--name", help=_("a user's name"))
        unlock.add_argument("--address", help=_("an IP address"))
        unlock.add_argument("--json", action="store_true", help=_("report in JSON"))

    def run(self, **options: Any) -> int:
        name, address = options["name"], options["address"]
        count = lockout.unlock(
            name=counted_name(name) if name else None, address=address_part(address) if address else None
        )
        said = ngettext("%(count)s counter removed", "%(count)s counters removed", count) % {"count": count}
        self.report({"removed": count}, [said], options["json"])
        return OK
