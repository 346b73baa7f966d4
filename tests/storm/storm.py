"""One storm from its start to its report."""

import json
import statistics
import threading
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.core.management import call_command
from django.utils import timezone

from accounts.users import bulk
from catalog.models import Tag
from demo.books import BOOK_COUNT, load_demo_books
from demo.browser import SiteUnavailable
from mirror.models import Change
from shop.models import Product
from tests.storm.buyers import Buyer
from tests.storm.checks import FinalCheck, find_unrest, wait_for_convergence
from tests.storm.faults import Weather, plan_faults
from tests.storm.ledger import Calendar, Ledger, Outcome
from tests.storm.library import IMPORTED_BOOKS
from tests.storm.people import BOOKS, PASSIVE, TAGS, Person, Tab
from tests.storm.stack import Stack
from tests.support.servers import wait_until

PEOPLE, FEW_PEOPLE = 6, 3
SLOW_SECONDS = 1.0
CALM_SECONDS = 3.0  # before the first and after the last fault


class StaffWrite(NamedTuple):
    """A line of the staff's process."""

    cell: list[Any]
    value: Any
    outcome: str
    began: float
    ended: float


class Storm:
    """One run: the site, its people and staff, and the faults."""

    def __init__(self, stack: Stack, seed: str, minutes: float, *, is_small: bool, has_faults: bool) -> None:
        self.seed, self.seconds, self.has_faults = seed, minutes * 60, has_faults
        # The books have ids from 1, and those to be imported have the last ones.
        self.people, self.books = (FEW_PEOPLE, IMPORTED_BOOKS[-1]) if is_small else (PEOPLE, BOOK_COUNT)
        servers = ["PostgreSQL" if stack.postgres else "SQLite", *["Redis Cluster"] * (stack.cluster is not None)]
        self.title = f"storm of {minutes:g} minutes, seed {seed}, on {' and '.join(servers)}, relay: {stack.relay}"
        self.stack, self.calendar, self.end = stack, Calendar(), threading.Event()
        self.ledger = Ledger(self.stack.folder / "ledger.jsonl", self.calendar)

    def prepare(self) -> dict[int, int]:
        """Create the database with books, products and passive readers. Return the stock of each product."""
        call_command("migrate", verbosity=0)
        load_demo_books(self.books)
        bulk.get_or_create_users(PASSIVE)
        Tag.objects.bulk_create(Tag(name=name) for name in TAGS)
        stock = {pk: pk % 4 for pk in BOOKS}
        Product.objects.bulk_create(Product(pk=pk, price=900 + pk, stock=copies) for pk, copies in stock.items())
        return stock

    def run(self) -> int:
        """Run the storm and print the report. Return 1 after a violation."""
        stock = self.prepare()
        print(self.title, flush=True)
        self.stack.start()
        wait_until(lambda: _is_up(Tab(self.stack.url)), "the start of the site")
        wait_until(lambda: not find_unrest(), "warm mirrors")
        self.began = timezone.now()
        names = [f"storm{number}" for number in range(self.people)]
        people: list[Person] = [Buyer(name, names, self.stack.url, self.ledger, self.seed, self.end) for name in names]
        for person in people:
            assert person.register(person.first, person.name), "nobody can register"
            person.find_hidden = self.find_hidden
        staff = self.stack.crew.start("staff", f"tests.storm.staff {self.seed}")
        for person in people:
            person.start()
        weather = Weather(self.stack, self.calendar, plan_faults(self.stack, self.seed, self.seconds))
        time.sleep(CALM_SECONDS)
        if self.has_faults:
            weather.run(self.seconds)
        else:
            self.stack.tend(self.seconds)
        self.stack.tend(CALM_SECONDS)
        self.end.set()
        (self.stack.folder / "calm").touch()
        for person in people:
            person.join()
        staff.wait()
        seconds = wait_for_convergence(self.ledger, self.stack)
        for write in self._read_staff():
            self.ledger.add(tuple(write.cell), write.value, Outcome(write.outcome), write.began, write.ended)
        final = FinalCheck(self.ledger, people)
        final.run(self.stack, stock)
        self._print_report(people, weather, final, seconds)
        return 1 if self.ledger.violations else 0

    def _read_staff(self) -> list[StaffWrite]:
        lines = self.stack.crew.said("staff").splitlines()
        return [StaffWrite(**json.loads(line)) for line in lines if line.startswith('{"cell"') and line.endswith("}")]

    def find_hidden(self) -> dict[int, float]:
        """Return the posts that staff have hidden, with the times."""
        done = [write for write in self._read_staff() if write.cell[0] == "hiding" and write.outcome == Outcome.DONE]
        return {write.cell[1]: write.ended for write in done}

    def find_longest_waits(self) -> dict[str, str]:
        """Return by the last fault for how long a change was pending at most, without the time of faults, and which."""
        longest: dict[str, tuple[float, Change]] = {}
        for change in Change.objects.filter(created_at__gte=self.began, applied_at__isnull=False):
            created, applied = change.created_at.timestamp(), change.applied_at.timestamp()
            wait, last = self.calendar.measure_calm(created, applied), self.calendar.find_last(applied)
            if wait > SLOW_SECONDS and wait > longest.get(last, (0.0, change))[0]:
                longest[last] = wait, change
        return {last: f"{wait:.1f} s ({change.mirror})" for last, (wait, change) in longest.items()}

    def _print_report(self, people: list[Person], weather: Weather, final: FinalCheck, seconds: float) -> None:
        ledger = self.ledger
        kinds = sorted({kind for kind, _ in ledger.outcomes})
        counts = {o: sum(n for (_, outcome), n in ledger.outcomes.items() if outcome == o) for o in Outcome}
        ranked = sorted(seconds for seconds, _ in ledger.latencies)
        slow = Counter(self.calendar.find_last(began) for seconds, began in ledger.latencies if seconds > SLOW_SECONDS)
        live = sum(visit.is_live for person in people for visit in [person.first, *person.visits, *person.newcomers])
        rows = [
            ("faults", _list(Counter(fault.kind for fault in weather.done))),
            ("faults by server", _list(Counter(fault.name for fault in weather.done))),
            ("processes that ended by themselves", _list(self.stack.restarts) or "0"),
            ("requests", f"{len(ranked)}"),
            ("acknowledged writes", _list({kind: ledger.outcomes[kind, Outcome.DONE] for kind in kinds})),
            ("writes", _list({str(outcome): number for outcome, number in counts.items()})),
            ("refusals", _list({f"{kind} {code}": n for (kind, code), n in sorted(ledger.refusals.items())})),
            ("lost, doubled", f"{final.lost}, {final.doubled}"),
            ("5xx and cut requests", _list(ledger.failures) or "0"),
            ("sessions", f"{live} live, {sum(len(person.ended) for person in people)} ended"),
            ("convergence", f"{seconds:.1f} s"),
            ("latency", f"p50 {statistics.median(ranked) * 1000:.0f} ms, "
                        f"p95 {ranked[len(ranked) * 95 // 100] * 1000:.0f} ms, max {ranked[-1]:.1f} s"),
            (f"slower than {SLOW_SECONDS:g} s, by the last fault", _list(slow) or "0"),
            (f"changes that waited {SLOW_SECONDS:g} s while nothing was away", _list(self.find_longest_waits()) or "0"),
            ("violations", str(len(ledger.violations))),
        ]  # fmt: skip
        print(f"\n{self.title}\n")
        for name, text in rows:
            print(f"| {name} | {text} |")
        for text in ledger.violations[:40]:
            print(f"VIOLATION {text}")


def _list(counts: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.items())


def _is_up(tab: Tab) -> bool:
    try:
        return bool(tab.get("/healthz").status == 200)
    except SiteUnavailable:
        return False
