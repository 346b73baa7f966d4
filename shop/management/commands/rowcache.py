"""``manage.py rowcache``: run the daemon of the row cache, and schedule rows."""

import signal
from argparse import ArgumentTypeError
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from common.ids import parse_id
from mirror.management import OK, ReportingCommand, brief
from shop.models import Product
from shop.rowcache import rows
from shop.rowcache.daemon import RowCacheDaemon, run_once


def parse_product_id(text: str) -> int:
    """Parse the id of a product. Raises ArgumentTypeError."""
    if (pk := parse_id(text)) is None:
        raise ArgumentTypeError(_("%(text)s is not a product id") % {"text": repr(text)})
    return pk


def parse_seconds(text: str) -> float:
    """Parse a number of seconds. Raises ArgumentTypeError."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    # NaN fails this comparison, too.
    if not abs(seconds) <= 1e9:
        raise ArgumentTypeError(_("%(text)s is not a number of seconds") % {"text": repr(text)})
    return seconds


class Command(ReportingCommand):
    """The actions ``run`` and ``schedule``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Product rows that are cached every few seconds for the sale page.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("cache due rows until Ctrl-C; beat does the same once a second")
        run = brief(actions.add_parser("run", help=text, description=text))
        run.add_argument("--once", action="store_true", help=_("only rows that are due now"))
        text = _("cache a row every so many seconds; 0 or less stops it")
        schedule = brief(actions.add_parser("schedule", help=text, description=text))
        schedule.add_argument("product", type=parse_product_id, metavar="ID")
        schedule.add_argument("seconds", type=parse_seconds, metavar="SECONDS")
        for action in (run, schedule):
            action.add_argument("--json", action="store_true", help=_("print the report as JSON"))

    def run(self, **options: Any) -> int:
        if options["action"] == "schedule":
            self._schedule(options["product"], options["seconds"], options["json"])
        else:
            rows = run_once() if options["once"] else self._serve()
            text = ngettext("%(count)s row cached", "%(count)s rows cached", rows) % {"count": rows}
            self.report({"rows": rows}, [text], options["json"])
        return OK

    def _schedule(self, product: int, seconds: float, json: bool) -> None:
        exists = Product.objects.filter(pk=product).exists()
        result = {"id": product, "seconds": seconds, "exists": exists}
        # A deleted product can still be unscheduled.
        if seconds > 0 and not exists:
            raise CommandError(_("there is no product with the id %(id)s") % result)
        rows.schedule_row(product, seconds)
        text = _("row %(id)s: every %(seconds)g seconds") if seconds > 0 else _("row %(id)s: no longer cached")
        self.report(result, [text % result], json)

    def _serve(self) -> int:
        """Run the daemon until a signal stops it. Return the number of cached rows."""
        daemon = RowCacheDaemon()
        before = {number: signal.signal(number, lambda *_: daemon.stop()) for number in (signal.SIGINT, signal.SIGTERM)}
        self.stderr.write(_("caching rows as they are due; Ctrl-C ends it"))
        try:
            daemon.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return daemon.rows
