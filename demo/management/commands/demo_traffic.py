"""``manage.py demo_traffic``: simulated visitors through real HTTP."""

import os
import time
from collections import Counter
from threading import Event
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser

from demo import logins
from demo.browser import SiteUnavailable, parse_origin
from demo.traffic import ERROR_PREFIX, SHOPPER_NAME, run_visitors
from mirror.management import FAILED, FOUND, OK, Progress, ReportingCommand
from shop.checks import FAKE_PROVIDER


class Command(ReportingCommand):
    help = (
        "Simulate visitors of one running site: they register or log in, search, view books, fill carts, buy with a"
        " test card, post and follow, at a moderate rate. Exits with 1 if a page failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--users", type=int, default=5, metavar="N", help="simultaneous visitors (5; at most 200)")
        parser.add_argument("--seconds", type=float, default=60.0, metavar="S", help="duration (60)")
        parser.add_argument(
            "--url", help="address of the site (default: http://127.0.0.1:PORT, with port 8000 if PORT is not set)"
        )
        parser.add_argument(
            "--yes",
            action="store_true",
            help="run even with a real payment provider: users and orders stay in the database",
        )
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def run(self, **options: Any) -> int:
        users, seconds = options["users"], options["seconds"]
        url = parse_origin(options["url"] or f"http://127.0.0.1:{os.environ.get('PORT', '8000')}")
        _check_options(users, seconds, is_agreed=options["yes"])
        began = time.monotonic()
        try:
            done = run_visitors(url, users, Event(), lambda: self._wait(seconds), self._find_shopper_login())
        except SiteUnavailable as error:
            raise CommandError(f"{url} is not responding: {error}") from None
        took = round(time.monotonic() - began, 1)
        acts, errors = {}, {}
        for action, count in sorted(done.items()):
            if action.startswith(ERROR_PREFIX):
                errors[action.removeprefix(ERROR_PREFIX)] = count
            else:
                acts[action] = count
        report = {"url": url, "users": users, "seconds": took, "done": acts, "errors": errors}
        self.report(report, _build_report_lines(url, users, took, acts, errors), options["json"])
        if not acts:
            return FAILED
        return FOUND if errors else OK

    def _wait(self, seconds: float) -> None:
        """Wait with a progress bar."""
        with Progress(self.stderr, "gone by", {"seconds": round(seconds)}) as progress:
            end = time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                time.sleep(min(1.0, left))
                progress("seconds", 1)

    def _find_shopper_login(self) -> tuple[str, str] | None:
        """Return the name and password of the demo's shopper, or None if it does not exist."""
        for name, password, _ in logins.read_logins():
            if name == SHOPPER_NAME:
                return name, password
        return None


def _check_options(users: int, seconds: float, *, is_agreed: bool) -> None:
    if settings.PAYMENT_PROVIDER != FAKE_PROVIDER and not is_agreed:
        raise CommandError("The payment provider is a real one, and users, posts and orders stay: add --yes.")
    if not (1 <= users <= 200 and seconds > 0):
        raise CommandError("--users must be 1 to 200, and --seconds must be above 0")


def _build_report_lines(url: str, users: int, took: float, acts: dict[str, int], errors: dict[str, int]) -> list[str]:
    summary = ", ".join(f"{n} {what}" for what, n in acts.items()) or "nothing"
    lines = [f"{users} visitors of {url} in {took} s: {summary}"]
    return lines + [f"failed: {what} ({n} times)" for what, n in Counter(errors).most_common(5)]
