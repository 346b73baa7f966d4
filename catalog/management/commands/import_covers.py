"""``manage.py import_covers``: set covers of books from a folder of pictures."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from catalog.pictures.folder import CoverReport, import_covers, list_pictures
from mirror.management import FOUND, OK, Progress, ReportingCommand

MAX_NAMED: Final = 20  # files that the report names in words


class Command(ReportingCommand):
    help = (
        "Set covers of books from the pictures in DIR, which are named after the ISBN or the id of a book"
        " (9780441013593.jpg, 42.png). Running it again changes nothing; an interrupted import continues. Exits with 1"
        " if a file belongs to no book, is refused, or belongs to a book with another file: a file with its id, or the"
        " first by name, counts."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", metavar="DIR", type=Path, help="a folder of JPEG, PNG, WebP or GIF files")
        parser.add_argument("--dry-run", action="store_true", help="check the files, and change nothing")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, **options: Any) -> int:
        folder = Path(options["folder"])
        if not folder.is_dir():
            raise CommandError(f"no such folder: {folder}")
        files, report = list_pictures(folder), CoverReport()
        with Progress(self.stderr, "read", {"covers": len(files)}) as progress:
            for _file in import_covers(files, report, is_dry_run=options["dry_run"]):
                progress("covers", 1)
        self.report(asdict(report), _make_lines(report, is_dry_run=options["dry_run"]), options["json"])
        return FOUND if report.unknown or report.refused or report.surplus else OK


def _make_lines(report: CoverReport, *, is_dry_run: bool) -> list[str]:
    verb = "to store" if is_dry_run else "stored"
    lines = [f"{report.stored} {verb}, {report.unchanged} unchanged"]
    if report.unknown:
        more = ", …" if len(report.unknown) > MAX_NAMED else ""
        lines.append(f"{len(report.unknown)} of no book: {', '.join(report.unknown[:MAX_NAMED])}{more}")
    lines += [f"{name}: its book has another file" for name in report.surplus]
    lines += [f"{name}: {reason}" for name, reason in report.refused.items()]
    return lines
