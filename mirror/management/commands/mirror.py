"""``manage.py mirror``: show, rebuild, verify and repair mirrors."""

import signal
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror import doctor, status, uninstall
from mirror.comparison.compare import Difference
from mirror.management import texts
from mirror.management.base import FOUND, OK, ReportingCommand, brief
from mirror.management.progress import Progress
from mirror.models import Change
from mirror.outbox import changes
from mirror.relay import drains
from mirror.standalone.runner import Relay
from mirror.upkeep import rebuild
from mirror.verify import explain, repair, runs


class Command(ReportingCommand):
    """Each action has a parser in ``add_arguments`` and its work in ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Show, verify and repair the mirrors of SQL in Redis.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        self._action(
            actions,
            "status",
            _(
                "show for each mirror: state, rows, pending and quarantined changes, layout version; exit 1 if any "
                "change is quarantined"
            ),
        )
        self._action(actions, "rebuild", _("rebuild everything from SQL while the site runs"), names=True)
        text = _("compare SQL and Redis in both directions; exit 1 on any difference or quarantined change")
        checked = self._action(actions, "verify", text, names=True)
        checked.add_argument("--sample", type=int, metavar="N", help=_("compare only N randomly chosen rows"))
        repaired = self._action(
            actions, "repair", _("repair the differences that verify finds, including quarantined changes"), names=True
        )
        repaired.add_argument("--dry-run", action="store_true", help=_("only show the repairs, without making them"))
        text = _("stop if more entries than this would be removed (default: %(default)s)")
        repaired.add_argument("--max-removals", type=int, default=repair.MOST_REMOVALS, metavar="N", help=text)
        drained = self._action(actions, "drain", _("apply all pending changes, then stop; exit 1 if some are left"))
        drained.add_argument("--retry", action="store_true", help=_("also retry quarantined changes"))
        text = _("keep Redis equal to SQL until Ctrl-C, without Celery")
        ran = self._action(actions, "run", text)
        ran.add_argument("--once", action="store_true", help=_("only one sweep and the jobs that it starts"))
        text = _("check settings, servers, triggers and the relay, and say what to do; exit 1 on any error")
        self._action(actions, "doctor", text)
        text = _("show one row in SQL and in Redis; exit 1 if they differ")
        explained = self._action(actions, "explain", text)
        explained.add_argument("model", metavar="MODEL", help=_("for example catalog.Book, or the name of a mirror"))
        explained.add_argument("pk", metavar="PK", help=_("the key of the row in the outbox: its primary key"))

        text = _("remove the triggers, tables and keys of the mirror; without --yes, only show them")
        removed = self._action(actions, "uninstall", text)
        removed.add_argument("--yes", action="store_true", help=_("remove them"))

    def _action(self, actions: Any, name: str, text: str, *, names: bool = False) -> ArgumentParser:
        parser: ArgumentParser = brief(actions.add_parser(name, help=text, description=text))
        parser.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        if names:
            parser.add_argument("names", nargs="*", metavar="NAME", help=_("mirrors (default: all)"))
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        return do(**options)

    def _progress(self, verb: str) -> Progress:
        return Progress(self.stderr, verb, status.rows_of)

    def do_status(self, *, json: bool, **options: Any) -> int:
        found = status.statuses()
        self.report([s.as_dict() for s in found], texts.statuses(found), json)
        return FOUND if any(s.quarantined or s.faults for s in found) else OK

    def do_rebuild(self, *, names: list[str], json: bool, **options: Any) -> int:
        with self._progress(_("rebuilt")) as progress:
            done = rebuild.rebuild(names, progress=progress)
        self.report([asdict(d) for d in done], list(map(texts.rebuilt, done)), json)
        return FOUND if any(d.faults for d in done) else OK

    def do_verify(self, *, names: list[str], sample: int | None, json: bool, **options: Any) -> int:
        if sample is not None and sample < 1:
            raise CommandError(_("--sample must be at least 1"))
        with self._progress(_("verified")) as progress:
            found = runs.verify(names, sample=sample, progress=progress)
        self._report_differences(found, json)
        return FOUND if found else OK

    def do_repair(self, *, names: list[str], dry_run: bool, max_removals: int, json: bool, **options: Any) -> int:
        if max_removals < 0:
            raise CommandError(_("--max-removals cannot be negative"))
        with self._progress(_("verified")) as progress:
            found = runs.verify(names, progress=progress)
        if found and not dry_run:
            repair.check_cap(found, max_removals)
            repair.order(found)
            repair.carry_out(found)
        self._report_differences(found, json)
        if not found or dry_run:
            return FOUND if found else OK
        return self._report_carried_out(found, json)

    def _report_carried_out(self, found: list[Difference], json: bool) -> int:
        """Print the number of repaired rows. Return the exit code."""
        rows, left = len({(d.mirror, d.pk) for d in found}), repair.left_over(found)
        text = ngettext("%(count)s row repaired", "%(count)s rows repaired", rows - left)
        (self.stderr if json else self.stdout).write(text % {"count": rows - left})
        if left:
            text = ngettext(
                "%(count)s row could not be repaired: see the error of its change in the admin",
                "%(count)s rows could not be repaired: see the errors of their changes in the admin",
                left,
            )
            self.stderr.write(text % {"count": left})
        return FOUND if left else OK

    def do_drain(self, *, retry: bool, json: bool, **options: Any) -> int:
        if retry:
            changes.retry(Change.objects.all())
        applied = drains.drain_all()
        left = Change.objects.using(changes.using()).pending().in_order().count()
        self.report({"applied": applied, "pending": left}, [texts.drained(applied, left)], json)
        return FOUND if left else OK

    def do_run(self, *, once: bool, json: bool, **options: Any) -> int:
        relay = Relay()
        if once:
            relay.run_once()
        else:
            self._serve(relay)
        text = ngettext("%(count)s change applied", "%(count)s changes applied", relay.applied)
        self.report({"applied": relay.applied}, [text % {"count": relay.applied}], json)
        return OK

    def _serve(self, relay: Relay) -> None:
        """Run the relay until a signal stops it."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, lambda *_: relay.stop()) for number in numbers}
        self.stderr.write(_("the relay runs; Ctrl-C ends it"))
        try:
            relay.run()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def do_doctor(self, *, json: bool, **options: Any) -> int:
        found = doctor.examine()
        rows = [{"severity": texts.severity(m), "id": m.id, "text": m.msg, "hint": m.hint} for m in found]
        self.report(rows, texts.findings(found) or [_("No problems found.")], json)
        return FOUND if any(m.is_serious() for m in found) else OK

    def do_explain(self, *, model: str, pk: str, json: bool, **options: Any) -> int:
        found = explain.explain(model, pk)
        self.report([e._asdict() for e in found], [line for e in found for line in texts.explained(e)], json)
        return FOUND if any(e.differs for e in found) else OK

    def do_uninstall(self, *, yes: bool, json: bool, **options: Any) -> int:
        found, steps = uninstall.find(), uninstall.list_manual_steps()
        if yes:
            uninstall.remove()
        self.report({**found.as_dict(), "removed": yes, "by_hand": steps}, texts.removal(found, steps, yes), json)
        return OK

    def _report_differences(self, found: list[Difference], json: bool) -> None:
        rows = [{**d._asdict(), "entry": list(d.entry) if d.entry else None} for d in found]
        count = ngettext("%(count)s difference", "%(count)s differences", len(found)) % {"count": len(found)}
        self.report(rows, [*map(texts.difference, found), count], json)
