"""The comparison of SQL and Redis after each test: keys, values and readers.

Before a test all mirrors are made warm with the rows that it begins with. So its own writes reach Redis by the outbox
alone.
"""

import logging
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from django.apps import apps
from django.db import connection
from django.test import TransactionTestCase

from mirror import registry
from mirror.comparison.expected import describe_entry
from mirror.declare.entries import single
from mirror.declare.mirrors import Mirror
from mirror.metrics import counted
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import breaker, relay_client
from mirror.redis.session import Session, set_with_transaction
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from mirror.verify.runs import verify
from mirror.warm import marker

MOST_ROWS, MOST_KEYS = 1000, 8  # compared by readers, of each mirror and test


class Comparison:
    """The comparisons of one run.

    uncompared: tests after which the connection cannot be used. changes: those that were applied after a test.
    """

    def __init__(self) -> None:
        self.compared = self.uncompared = self.changes = 0
        self.differences: list[str] = []
        self._fallbacks: list[str] = []
        counted.connect(self._note_fallback)

    def install(self) -> None:
        """Prepare and compare around each test with a database."""
        case: Any = TransactionTestCase  # the stubs do not have its methods
        prepare_original = case._pre_setup.__func__
        finish_original = case._post_teardown
        comparison = self

        def _pre_setup(cls: Any) -> None:
            if cls.available_apps is not None and "mirror" not in cls.available_apps:
                cls.available_apps = [*cls.available_apps, "mirror"]
            prepare_original(cls)
            comparison.guard("before the test", cls, comparison.prepare)

        def _post_teardown(self: Any) -> None:
            comparison.guard(self.id(), self, comparison.compare)
            finish_original(self)

        case._pre_setup = classmethod(_pre_setup)
        case._post_teardown = _post_teardown

    def guard(self, test: str, case: Any, work: Any) -> None:
        """Call ``work(test)`` if the test uses the mirrored database and its transaction works."""
        if "default" not in case.databases:
            return
        is_closed = connection.connection is None  # the next statement opens it
        is_usable = is_closed or connection.is_usable()
        if connection.needs_rollback or not is_usable or not apps.is_installed("mirror"):
            self.uncompared += work == self.compare
            return
        try:
            with changes.within_test():
                work(test)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            self._note(test, f"{type(error).__name__}: {error} ({place.name})")

    def prepare(self, test: str) -> None:
        """Empty Redis and the outbox, make all mirrors warm and drain the existing rows."""
        redis = relay_client()
        redis.flushdb()
        breaker.reset()
        Change.objects.all()._raw_delete("default")
        with Session(redis) as session:
            warm = [
                (naming.marker(mirror.name), marker.value(mirror.name, session.incarnation, "suite"))
                for mirror in registry.all_mirrors()
            ]
            session.execute([command for name, value in warm for command in set_with_transaction(name, value)])
        for mirror in registry.all_mirrors():
            if keys := mirror.keys_after(None, MOST_ROWS):
                changes.append(mirror.name, keys)
        drains.drain_all()

    def compare(self, test: str) -> None:
        """Drain, and note all differences between SQL and Redis."""
        self.changes += drains.drain_all()
        changed = set(Change.objects.values_list("mirror", flat=True))
        rows = {mirror: mirror.keys_after(None, MOST_ROWS) for mirror in registry.all_mirrors()}
        used = [mirror for mirror, keys in rows.items() if keys or mirror.name in changed]
        for difference in verify([mirror.name for mirror in used]) if used else ():
            self._note(test, str(difference))
        for mirror in used:
            if rows[mirror]:
                self._compare_readers(test, mirror, rows[mirror])
        self.compared += 1

    def _compare_readers(self, test: str, mirror: Mirror, rows: list[str]) -> None:
        declaration = type(mirror)
        reads: list[tuple[str, Callable[[], object]]] = [("get_many", partial(declaration.get_many, rows))]
        for key, kind in self._list_keys(mirror, rows):
            if kind == "zset":
                reads.append((f"top {key}", partial(declaration.top, key, MOST_ROWS)))
            else:
                reads.append((f"members {key}", partial(declaration.members, key)))
        for name, read in reads:
            self._fallbacks.clear()
            by_redis = read()
            reasons = list(self._fallbacks)
            with sql_only():
                by_sql = read()
            if reasons:
                self._note(test, f"{mirror.name}.{name}: SQL answered in place of Redis ({', '.join(reasons)})")
            elif by_redis != by_sql:
                self._note(test, f"{mirror.name}.{name}: SQL answers {by_sql!r:.200}, Redis {by_redis!r:.200}")

    def _list_keys(self, mirror: Mirror, rows: list[str]) -> Iterable[tuple[str, str]]:
        """Return the keys of the mirror's sets and rankings with these rows, each with its kind."""
        loaded = mirror.load(rows)
        found: dict[str, str] = {}
        for pk, row in loaded.items():
            for entry in single(list(mirror.index(pk, mirror.record(row)))):
                key = describe_entry(entry)[0]
                found[key] = "zset" if type(entry).__name__ == "Scored" else "set"
        return list(found.items())[:MOST_KEYS]

    def _note(self, test: str, text: str) -> None:
        self.differences.append(f"{test}: {text}")

    def _note_fallback(self, sender: object, name: str, labels: dict[str, str], **kwargs: Any) -> None:
        if name == "fallbacks":
            self._fallbacks.append(labels["reason"])


class Log(logging.Handler):
    """The errors that ``mirror`` logs, which Django's tests do not show."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Count the line."""
        error = record.exc_info[1] if record.exc_info else None
        line = f"{record.getMessage()}{f' {type(error).__name__}: {error}' if error else ''}"
        self.lines[line] = self.lines.get(line, 0) + 1
