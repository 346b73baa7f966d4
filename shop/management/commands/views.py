"""``manage.py views``: maintain the popularity of books and delete expired views."""

from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.management import OK, Progress, ReportingCommand, brief
from shop.book_views import retention
from shop.book_views.decay import rescale_popularity


class Command(ReportingCommand):
    """Each action has a parser in ``add_arguments`` and a method ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Manage the views of book pages.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("trim and halve the view counts if five minutes have passed")
        rescaled = brief(actions.add_parser("rescale", help=text, description=text))
        rescaled.set_defaults(do=self.do_rescale)
        text = _("delete views in SQL that are no longer needed")
        expired = brief(actions.add_parser("expire", help=text, description=text))
        text = _("delete customers' views that are older than this many days (at least 31)")
        expired.add_argument("--older-than", type=int, metavar="DAYS", help=text)
        expired.set_defaults(do=self.do_expire)
        for action in (rescaled, expired):
            action.add_argument("--json", action="store_true", help=_("print the report as JSON"))

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        return do(**options)

    def do_expire(self, *, older_than: int | None, json: bool, **options: Any) -> int:
        try:
            with Progress(self.stderr, _("deleted")) as progress:
                count = retention.expire_views(older_than, told=lambda views: progress("views", views))
        except retention.RetentionTooShort:
            text = _("--older-than must be at least %(days)s days")
            raise CommandError(text % {"days": retention.MIN_KEPT_DAYS}) from None
        text = ngettext("%(count)s view deleted", "%(count)s views deleted", count)
        self.report({"views": count}, [text % {"count": count}], json)
        return OK

    def do_rescale(self, *, json: bool, **options: Any) -> int:
        done = rescale_popularity()
        text = ngettext("halved for %(count)s period", "halved for %(count)s periods", done.periods)
        removed = ngettext("%(count)s book removed", "%(count)s books removed", done.removed) % {"count": done.removed}
        line = f"{text % {'count': done.periods}}, {removed}" if done.periods else _("nothing is due")
        self.report(done._asdict(), [line], json)
        return OK
