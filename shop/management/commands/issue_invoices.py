"""``manage.py issue_invoices``: issue the invoices of orders that were paid before there were invoices."""

from typing import Any

from django.core.management.base import CommandParser

from mirror.management import OK, Progress, ReportingCommand
from shop.invoices.backlog import find_orders, find_refunds, issue_missing_credit_notes, issue_missing_invoices


class Command(ReportingCommand):
    help = (
        "Issue an invoice for each paid order without one, in the order of the payments, and a credit note for each"
        " refund without one. They have the next numbers and the date of today. Running it again changes nothing; an"
        " interrupted run continues."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="count the missing documents, and issue none")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, **options: Any) -> int:
        counts = {"invoices": find_orders().count(), "credit_notes": find_refunds().count()}
        if not options["dry_run"]:
            with Progress(self.stderr, "issued", dict(counts)) as progress:
                counts["invoices"] = issue_missing_invoices(lambda count: progress("invoices", count))
                counts["credit_notes"] = issue_missing_credit_notes(lambda count: progress("credit_notes", count))
        line = f"{counts['invoices']} invoices, {counts['credit_notes']} credit notes"
        self.report(counts, [f"{line} {'missing' if options['dry_run'] else 'issued'}"], options["json"])
        return OK
