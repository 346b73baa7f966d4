"""``manage.py mirror``: see, rebuild, check and repair what Redis holds."""

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from mirror import explain, rebuild, relay, repair, status, verify
from mirror.compare import Difference
from mirror.management.base import FOUND, OK, ReportingCommand
from mirror.management.progress import Progress, plain
from mirror.models import Change


class Command(ReportingCommand):
    help = "The mirrors of SQL in Redis: how they stand, and how to set them right."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
        self._action(actions, "status", "per mirror: warm, rows, pending, quarantined, layout version")
        self._action(actions, "rebuild", "write everything anew from SQL, while the site runs", names=True)
        checked = self._action(
            actions, "verify", "compare SQL and Redis both ways; exit 1 on any difference", names=True
        )
        checked.add_argument("--sample", type=int, metavar="N", help="compare only N rows, picked at random")
        repaired = self._action(actions, "repair", "put right what verify finds", names=True)
        repaired.add_argument("--dry-run", action="store_true", help="only show what would be done")
        repaired.add_argument(
            "--max-removals", type=int, default=repair.MOST_REMOVALS, metavar="N",
            help="stop if more entries than this would be taken away (default: %(default)s)",
        )  # fmt: skip
        self._action(actions, "drain", "apply all pending changes, then stop")
        explained = self._action(actions, "explain", "one row: what SQL says, and what Redis says")
        explained.add_argument("model", metavar="MODEL", help="such as catalog.Book")
        explained.add_argument("pk", metavar="PK")

    def _action(self, actions: Any, name: str, text: str, *, names: bool = False) -> ArgumentParser:
        parser: ArgumentParser = actions.add_parser(name, help=text, description=text)
        parser.add_argument("--json", action="store_true", help="report in JSON")
        if names:
            parser.add_argument("names", nargs="*", metavar="NAME", help="mirrors (default: all)")
        parser.set_defaults(do=getattr(self, f"do_{name}"))
        return parser

    def run(self, *, do: Callable[..., int], **options: Any) -> int:
        return do(**options)

    def do_status(self, *, json: bool, **options: Any) -> int:
        found = status.statuses()
        lines = [
            f"{s.mirror:<16} {_warmth(s.warm):<8} rows {s.rows:>9}  pending {s.pending:>7}  "
            f"oldest {s.oldest_pending_seconds:>7.1f} s  quarantined {s.quarantined:>4}  layout {s.layout_version}"
            for s in found
        ]
        self.report([s.as_dict() for s in found], lines or ["No mirrors are declared."], json)
        return OK

    def do_rebuild(self, *, names: list[str], json: bool, **options: Any) -> int:
        with Progress(self.stderr, "rebuilt") as progress:
            done = rebuild.rebuild(names, progress=progress)
        lines = [
            f"{d.mirror}: somebody else is rebuilding it"
            if d.skipped
            else f"{d.mirror}: {d.rows} rows, {d.strays} strays"
            for d in done
        ]
        self.report([asdict(d) for d in done], lines, json)
        return OK

    def do_verify(self, *, names: list[str], sample: int | None, json: bool, **options: Any) -> int:
        with Progress(self.stderr, "verified") as progress:
            found = verify.verify(names, sample=sample, progress=progress)
        self._report_differences(found, json)
        return FOUND if found else OK

    def do_repair(self, *, names: list[str], dry_run: bool, max_removals: int, json: bool, **options: Any) -> int:
        with Progress(self.stderr, "verified") as progress:
            found = verify.verify(names, progress=progress)
        self._report_differences(found, json)
        if dry_run or not found:
            return FOUND if found else OK
        repair.check_cap(found, max_removals)
        repair.order(found)
        applied = repair.carry_out(found)
        if not json:
            self.stdout.write(f"{applied} changes ordered and applied")
        return OK

    def do_drain(self, *, json: bool, **options: Any) -> int:
        applied = relay.drain_all()
        left = Change.objects.pending().count()
        self.report({"applied": applied, "pending": left}, [f"{applied} changes applied, {left} pending"], json)
        return FOUND if left else OK

    def do_explain(self, *, model: str, pk: str, json: bool, **options: Any) -> int:
        found = explain.explain(model, pk)
        lines = [line for e in found for line in _explained(e)]
        self.report([e._asdict() for e in found], lines, json)
        return OK

    def _report_differences(self, found: list[Difference], json: bool) -> None:
        rows = [{**d._asdict(), "entry": list(d.entry) if d.entry else None} for d in found]
        self.report(rows, [*map(str, found), f"{plain(len(found), 'difference')}"], json)


def _warmth(warm: bool | None) -> str:
    return "unknown" if warm is None else "warm" if warm else "cold"


def _explained(found: explain.Explained) -> list[str]:
    lines = [f"{found.mirror} {found.key}", f"  SQL:   {found.sql}", f"  Redis: {found.redis}"]
    if found.pending:
        lines.append(f"  pending changes: {', '.join(map(str, found.pending))}")
    for key, member, wanted, said in found.entries:
        mark = "=" if wanted == said else "!"
        lines.append(f"  {mark} {key} {member}  SQL: {_fact(wanted)}  Redis: {_fact(said)}")
    return lines


def _fact(said: str | None) -> str:
    return "nothing" if said is None else said or "there"
