"""``manage.py site``: back up and restore the whole site."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _

from config.copies import Manifest, back_up_site, restore_site
from mirror.management import OK, Progress, ReportingCommand, brief


class Command(ReportingCommand):
    """Each action has a parser in ``add_arguments`` and a method ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Back up and restore the whole site.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _("write a backup into an empty or new folder while the site runs")
        self._action(actions, "backup", text)
        text = _("restore a backup into an empty site, whose processes are stopped, and fill Redis from SQL")
        restored = self._action(actions, "restore", text)
        restored.add_argument("--replace", action="store_true", help=_("delete the present data of the site first"))

    def _action(self, actions: Any, name: str, text: str) -> Any:
        parser = brief(actions.add_parser(name, help=text, description=text))
        parser.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        parser.add_argument("folder", metavar="DIR", type=Path, help=_("folder of the backup"))
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        return do(**options)

    def do_backup(self, *, folder: Path, json: bool, **options: Any) -> int:
        manifest = back_up_site(folder)
        self._report(manifest, _("backed up: %(size)s bytes of %(vendor)s, %(created)s"), json)
        return OK

    def do_restore(self, *, folder: Path, replace: bool, json: bool, **options: Any) -> int:
        with Progress(self.stderr, _("restored")) as progress:
            manifest = restore_site(folder, replace=replace, progress=progress)
        self._report(manifest, _("restored: %(size)s bytes of %(vendor)s, %(created)s"), json)
        return OK

    def _report(self, manifest: Manifest, text: str, json: bool) -> None:
        self.report(asdict(manifest), [text % asdict(manifest)], json)
