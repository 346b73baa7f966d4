"""``manage.py mirror``: show, rebuild, verify and repair mirrors."""

import signal
from argparse import ArgumentParser
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError, connections
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from mirror import doctor, status, uninstall
from mirror.capture.plan import own_tables
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


def _lacks_tables() -> bool:
    """Return whether a table of the mirror itself does not exist."""
    with suppress(DatabaseError):
        return not set(own_tables()).issubset(connections[changes.using()].introspection.table_names())
    return False


class Command(ReportingCommand):
    """Each action has a parser in ``add_arguments`` and its work in ``do_<action>``."""

    def add_arguments(self, parser: CommandParser) -> None:
        parser.description = _("Show, verify and repair the mirrors of SQL in Redis.")
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        text = _(
            "show for each mirror: state, rows, pending and quarantined changes, layout version; exit 1 if any "
            "change is quarantined"
        )
        self._add_action(actions, "status", text)
        self._add_action(actions, "rebuild", _("rebuild everything from SQL while the site runs"), names=True)
        text = _("compare SQL and Redis in both directions; exit 1 on any difference or quarantined change")
        checked = self._add_action(actions, "verify", text, names=True)
        checked.add_argument("--sample", type=int, metavar="N", help=_("compare only N randomly chosen rows"))
        text = _("repair the differences that verify finds, including quarantined changes")
        repaired = self._add_action(actions, "repair", text, names=True)
        repaired.add_argument("--dry-run", action="store_true", help=_("only show the repairs, without making them"))
        text = _("stop if more entries than this would be removed (default: %(default)s)")
        repaired.add_argument("--max-removals", type=int, default=repair.MOST_REMOVALS, metavar="N", help=text)
        drained = self._add_action(actions, "drain", _("apply all pending changes, then stop; exit 1 if some are left"))
        drained.add_argument("--retry", action="store_true", help=_("also retry quarantined changes"))
        text = _("keep Redis equal to SQL until Ctrl-C, without Celery")
        ran = self._add_action(actions, "run", text)
        ran.add_argument("--once", action="store_true", help=_("only one sweep and the jobs that it starts"))
        text = _("check settings, servers, triggers and the relay, and say what to do; exit 1 on any error")
        self._add_action(actions, "doctor", text)
        text = _("show one row in SQL and in Redis; exit 1 if they differ")
        explained = self._add_action(actions, "explain", text)
        explained.add_argument("model", metavar="MODEL", help=_("for example catalog.Book, or the name of a mirror"))
        explained.add_argument("pk", metavar="PK", help=_("the key of the row in the outbox: its primary key"))

        text = _("remove the triggers, tables and keys of the mirror; without --yes, only show them")
        removed = self._add_action(actions, "uninstall", text)
        removed.add_argument("--yes", action="store_true", help=_("remove them"))

    def _add_action(self, actions: Any, name: str, text: str, *, names: bool = False) -> ArgumentParser:
        parser: ArgumentParser = brief(actions.add_parser(name, help=text, description=text))
        parser.add_argument("--json", action="store_true", help=_("print the report as JSON"))
        if names:
            parser.add_argument("names", nargs="*", metavar="NAME", help=_("mirrors (default: all)"))
        # ``run`` calls it.
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, **options: Any) -> int:
        do: Callable[..., int] = options.pop("do")
        try:
            return do(**options)
        except DatabaseError as error:
            if _lacks_tables():
                raise CommandError(_("tables of the app mirror are missing: run `manage.py migrate` first")) from error
            raise

    def _show_progress(self, verb: str) -> Progress:
        return Progress(self.stderr, verb, status.rows_of)

    def do_status(self, *, json: bool, **options: Any) -> int:
        found = status.statuses()
        rows = [each.as_dict() for each in found]
        self.report(rows, texts.statuses(found), json)
        # A cold mirror is no problem of an operator: the relay rebuilds it.
        has_problems = any(each.quarantined or each.faults for each in found)
        return FOUND if has_problems else OK

    def do_rebuild(self, *, names: list[str], json: bool, **options: Any) -> int:
        with self._show_progress(_("rebuilt")) as progress:
            done = rebuild.rebuild(names, progress=progress)
        rows = list(map(asdict, done))
        self.report(rows, list(map(texts.rebuilt, done)), json)
        has_problems = any(each.faults or each.failed for each in done)
        return FOUND if has_problems else OK

    def do_verify(self, *, names: list[str], sample: int | None, json: bool, **options: Any) -> int:
        if sample is not None and sample < 1:
            raise CommandError(_("--sample must be at least 1"))
        with self._show_progress(_("verified")) as progress:
            found = runs.verify(names, sample=sample, progress=progress)
        self._report_differences(found, json)
        warm = status.warm_mirrors()
        self._tell_cold({difference.mirror for difference in found if warm.get(difference.mirror) is False})
        return FOUND if found else OK

    def _tell_cold(self, names: Iterable[str]) -> None:
        """Say which mirrors are cold, because their differences reach no reader."""
        listed = ", ".join(sorted(names))
        if listed:
            self.stderr.write(texts.cold(listed))

    def do_repair(self, *, names: list[str], dry_run: bool, max_removals: int, json: bool, **options: Any) -> int:
        if max_removals < 0:
            raise CommandError(_("--max-removals cannot be negative"))
        with self._show_progress(_("verified")) as progress:
            found = runs.verify(names, progress=progress)
        if found and not dry_run:
            # Before any change is ordered: for the wrong database, all of Redis would be strays.
            repair.check_cap(found, max_removals)
            repair.order(found)
            repair.carry_out(found)
        self._report_differences(found, json)
        if not found or dry_run:
            return FOUND if found else OK
        return self._report_carried_out(found, json)

    def _report_carried_out(self, found: list[Difference], json: bool) -> int:
        """Print the number of repaired rows. Return the exit code."""
        rows = {(difference.mirror, difference.pk) for difference in found}
        left = repair.count_unapplied(found)
        repaired = len(rows) - left
        text = ngettext("%(count)s row repaired", "%(count)s rows repaired", repaired)
        # With --json, stdout has the report alone.
        stream = self.stderr if json else self.stdout
        stream.write(text % {"count": repaired})
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
        before = status.warm_mirrors()
        applied = drains.drain_all()
        # A change of everything (TRUNCATE) makes a mirror cold, and only a rebuild follows it.
        self._tell_cold({name for name, warm in status.warm_mirrors().items() if before[name] and warm is False})
        # Without quarantined changes, which no drain applies.
        left = Change.objects.using(changes.using()).pending().in_order().count()
        quarantined = Change.objects.using(changes.using()).quarantined().count()
        lines = [texts.drained(applied, left)]
        if quarantined:
            lines.append(texts.kept_back(quarantined))
        self.report({"applied": applied, "pending": left, "quarantined": quarantined}, lines, json)
        return FOUND if left else OK

    def do_run(self, *, once: bool, json: bool, **options: Any) -> int:
        relay = Relay()
        if once:
            relay.run_once()
        else:
            self._run_until_signal(relay)
        text = ngettext("%(count)s change applied", "%(count)s changes applied", relay.applied)
        self.report({"applied": relay.applied}, [text % {"count": relay.applied}], json)
        return OK

    def _run_until_signal(self, relay: Relay) -> None:
        """Run the relay until a signal stops it."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before: dict[signal.Signals, Any] = {}
        for number in numbers:
            before[number] = signal.signal(number, lambda *_: relay.stop())
        self.stderr.write(_("the relay runs; Ctrl-C ends it"))
        try:
            relay.run()
        finally:
            # For a caller in the same process, as of a test.
            for number, handler in before.items():
                signal.signal(number, handler)

    def do_doctor(self, *, json: bool, **options: Any) -> int:
        found = doctor.examine()
        rows: list[dict[str, Any]] = []
        for message in found:
            severity = texts.severity(message)
            rows.append({"severity": severity, "id": message.id, "text": message.msg, "hint": message.hint})
        lines = texts.findings(found) or [_("No problems found.")]
        self.report(rows, lines, json)
        has_errors = any(message.is_serious() for message in found)
        return FOUND if has_errors else OK

    def do_explain(self, *, model: str, pk: str, json: bool, **options: Any) -> int:
        found = explain.explain(model, pk)
        rows: list[dict[str, Any]] = []
        lines: list[str] = []
        for explained in found:
            rows.append(explained._asdict())
            lines += texts.explained(explained)
        self.report(rows, lines, json)
        has_differences = any(explained.differs for explained in found)
        return FOUND if has_differences else OK

    def do_uninstall(self, *, yes: bool, json: bool, **options: Any) -> int:
        # Before the removal, after which there is nothing to find.
        found = uninstall.find()
        steps = uninstall.list_manual_steps()
        if yes:
            uninstall.remove()
        report = found.as_dict() | {"removed": yes, "by_hand": steps}
        self.report(report, texts.removal(found, steps, yes), json)
        return OK

    def _report_differences(self, found: list[Difference], json: bool) -> None:
        rows: list[dict[str, Any]] = []
        lines: list[str] = []
        for difference in found:
            # As a list, because a named tuple would become text.
            entry = None if difference.entry is None else list(difference.entry)
            rows.append(difference._asdict() | {"entry": entry})
            lines.append(texts.difference(difference))
        text = ngettext("%(count)s difference", "%(count)s differences", len(found))
        lines.append(text % {"count": len(found)})
        self.report(rows, lines, json)
