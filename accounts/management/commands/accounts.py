"""``manage.py accounts``: actions for users who cannot log in."""

from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts import lockout
from accounts.lockout.limits import normalize_name
from accounts.models import User
from accounts.ratelimit import normalize_address
from accounts.second_factor import factors
from mirror.management import OK, ReportingCommand, brief


class Command(ReportingCommand):
    """Two actions: ``unlock`` and ``remove-factors``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Help readers who cannot log in.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("reset failed logins: all, or those of a name, of an address, or of a name from an address")
        unlock = brief(actions.add_parser("unlock", help=text, description=text))
        unlock.add_argument("--name", help=_("a user's name"))
        unlock.add_argument("--address", help=_("an IP address"))
        unlock.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        text = _("turn off two-step login of a user who has lost the device, and end the user's sessions")
        remove = brief(actions.add_parser("remove-factors", help=text, description=text))
        remove.add_argument("name", metavar="NAME", help=_("a user's name"))

    def run(self, **options: Any) -> int:
        if options["action"] == "unlock":
            self._unlock(options["name"], options["address"], options["json"])
        else:
            self._remove_factors(options["name"])
        return OK

    def _unlock(self, name: str | None, address: str | None, json: bool) -> None:
        count = lockout.unlock(
            name=normalize_name(name) if name else None, address=normalize_address(address) if address else None
        )
        summary = ngettext("%(count)s counter removed", "%(count)s counters removed", count) % {"count": count}
        self.report({"removed": count}, [summary], json)

    def _remove_factors(self, name: str) -> None:
        try:
            user = User.objects.get_by_natural_key(name)
        except User.DoesNotExist as error:
            raise CommandError(_("there is no user %(name)s") % {"name": repr(name)}) from error
        factors.remove_all(user)
        self.report({}, [_("two-step login of %(name)s is off") % {"name": user.username}], False)
