"""``manage.py demo_books``: a catalogue of invented books."""

from typing import Any

from django.core.management.base import CommandParser

from demo.books import load_demo_books
from mirror.management import OK, ReportingCommand, plain


class Command(ReportingCommand):
    help = "Add a few hundred invented books with authors and tags. Running it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, **options: Any) -> int:
        added = load_demo_books()
        self.report({"added": added}, [f"{plain(added, 'book')} added"], options["json"])
        return OK
