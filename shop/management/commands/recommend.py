"""``manage.py recommend``: compute recommendations from the history in SQL."""

import time
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from mirror.management import OK, Progress, ReportingCommand, brief
from shop.models import Product
from shop.recommend.build import rebuild_recommendations


class Command(ReportingCommand):
    """Each action has a parser in ``add_arguments`` and a method ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Compute recommendations from purchases and views.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("compute recommendations from SQL history while the site runs; only rows that change are written")
        made = brief(actions.add_parser("rebuild", help=text, description=text))
        made.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        made.set_defaults(do=self.do_rebuild)

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        return do(**options)

    def do_rebuild(self, *, json: bool, **options: Any) -> int:
        began = time.monotonic()
        with Progress(self.stderr, _("computed"), {"products": Product.objects.count()}) as progress:
            done = rebuild_recommendations(lambda products: progress("products", products))
        seconds = round(time.monotonic() - began, 2)
        text = _(
            "%(purchases)s purchases, %(products)s products in %(seconds)s s: %(bought)s with other purchases, "
            "%(viewbuy)s with purchases after a view; %(changed)s rows written, %(removed)s removed"
        )
        result = {**done.as_dict(), "seconds": seconds}
        self.report(result, [text % result], json)
        return OK
