"""``manage.py backup``: show, flush, verify and restore backups."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror.backup import flush, registry, restore, status, verify
from mirror.backup.declare import Backup
from mirror.management import backup_texts as texts
from mirror.management.base import FOUND, OK, ReportingCommand, brief
from mirror.management.progress import Progress


class Command(ReportingCommand):
    """Each action has a parser in ``add_arguments`` and its work in ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Show, verify and repair the data that is written to Redis first.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        self._action(
            actions,
            "status",
            _("show for each backup: state, marked items, oldest mark, quarantined items, last flush"),
        )
        text = _("write all marked items to SQL, including quarantined ones; exit 1 if any item is quarantined again")
        self._action(actions, "flush", text)
        self._action(actions, "verify", _("compare SQL and Redis in both directions; exit 1 on any difference"))
        text = _(
            "restore items that Redis has lost, and repair the differences that verify finds; exit 1 if any item "
            "cannot be repaired"
        )
        restored = self._action(actions, "restore", text)
        restored.add_argument("--dry-run", action="store_true", help=_("only show the repairs, without making them"))

    def _action(self, actions: Any, name: str, text: str) -> ArgumentParser:
        parser: ArgumentParser = brief(actions.add_parser(name, help=text, description=text))
        parser.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        parser.add_argument("names", nargs="*", metavar="NAME", help=_("backups (default: all)"))
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        backups = registry.all_backups(options.pop("names"))
        return do(backups, **options)

    def do_status(self, backups: list[Backup], *, json: bool, **options: Any) -> int:
        found = status.statuses(backups)
        self.report([s.as_dict() for s in found], texts.statuses(found), json)
        return OK

    def do_flush(self, backups: list[Backup], *, json: bool, **options: Any) -> int:
        marked = {s.backup: s.marked or 0 for s in status.statuses(backups)}
        with Progress(self.stderr, _("flushed"), marked) as progress:
            done = [flush.flush(backup, again=True, progress=progress) for backup in backups]
        self.report([asdict(d) for d in done], list(map(texts.flushed, done)), json)
        return FOUND if any(d.aside for d in done) else OK

    def do_verify(self, backups: list[Backup], *, json: bool, **options: Any) -> int:
        found = self._verified(backups)
        self.report([d._asdict() for d in found], texts.differences(found), json)
        return FOUND if found else OK

    def _verified(self, backups: list[Backup]) -> list[verify.Difference]:
        with Progress(self.stderr, _("verified")) as progress:
            return [d for backup in backups for d in verify.verify(backup, progress=progress)]

    def do_restore(self, backups: list[Backup], *, dry_run: bool, json: bool, **options: Any) -> int:
        if dry_run:
            return self.do_verify(backups, json=json)
        with Progress(self.stderr, _("restored")) as progress:
            done = [restore.restore(backup, again=True, progress=progress) for backup in backups]
        found = self._verified(backups)
        left = [d for b in backups for d in restore.put_right(b, [d for d in found if d.backup == b.name])]
        rows = [{**asdict(d), "put_right": sum(f.backup == d.backup for f in found)} for d in done]
        self.report(rows, [*map(texts.restored, done), *texts.differences(found)], json)
        self._say_left(left)
        return FOUND if left else OK

    def _say_left(self, left: list[verify.Difference]) -> None:
        for difference in left:
            self.stderr.write(texts.difference(difference))
        if left:
            text = ngettext("%(count)s item could not be repaired", "%(count)s items could not be repaired", len(left))
            self.stderr.write(text % {"count": len(left)})
