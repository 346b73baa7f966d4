"""The heartbeat: a key in Redis which proves that every earlier change of the strict mirrors has arrived.

Each round reads the server's time, drains the pending changes of the strict mirrors, and then sets a key that
expires ``HEARTBEAT_SECONDS`` after that time, by the server's own clock. A heartbeat that a frozen server executes
later has expired already. So a reader that finds one knows that Redis has all changes committed before that time.
Bulk work on other mirrors does not delay it. ``mirror.read.doubt`` describes readers without a heartbeat.

A script that compares ``TIME`` at each read would take 10 us, and in a cluster read another node's clock. Without the
heartbeat an old token worked for 15 s after a hang.

Every Celery worker runs the rounds in a thread: they need neither beat nor the broker.
"""

import logging
import threading
from collections import Counter, defaultdict
from typing import Final

import orjson
from django.db import Error as DatabaseError
from django.db import connections
from redis.exceptions import RedisError

from mirror import registry
from mirror.conf import setting
from mirror.models import Change
from mirror.outbox import changes, spread
from mirror.read import doubt
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.relay import drains
from mirror.utils.failure_log import FailureLog
from mirror.warm import marker, rewind, triggers

HEARTBEAT_INTERVAL_SECONDS: Final = 0.4  # how often the relay writes a heartbeat

failures = FailureLog(logging.getLogger("mirror"))
MOST = 1000  # changes of a mirror drained in one round
LISTED = 100  # quarantined changes listed in Redis


def beat(redis: RedisClient | None = None) -> bool:
    """Run one round. Return whether a heartbeat was written: False if more is pending than one round drains, or if
    SQL was restored from an older copy.

    Raises redis-py's errors and Django's database errors.
    """
    redis = redis or relay_client()
    # One connection, so that the time and the heartbeat are of the same server.
    with Session(redis) as session:
        (seconds, microseconds), history = session.ask([("TIME",), rewind.ask()])
        if marker.check_database(redis, history):
            return False
        # After the time was read: a change that is committed during the drain is later than the heartbeat.
        is_complete = drain_strict(redis)
        commands = [_list_quarantined()]
        if is_complete:
            noted = int(seconds) * 1000 + int(microseconds) // 1000
            expires = noted + int(float(setting("HEARTBEAT_SECONDS")) * 1000)
            commands.append(("SET", naming.heartbeat(), f"{session.incarnation}|{noted}", "PXAT", expires))
        session.ask(commands)
    return is_complete


def drain_strict(redis: RedisClient) -> bool:
    """Drain up to ``MOST`` pending changes of the strict mirrors. Return whether nothing earlier is left."""
    found = changes.pending_of_mirrors(registry.strict(), MOST)
    keys: dict[tuple[str, str], list[str]] = defaultdict(list)
    for mirror, source, key in found:
        keys[mirror, source].append(key)
    deadline = drains.Deadline(drains.SWEEP_BUDGET_SECONDS)
    failed: set[tuple[str, str]] = set()
    is_complete = True
    for (mirror, source), values in keys.items():
        rows = spread.slices(mirror, source, values) if source else [list(dict.fromkeys(values))]
        for pks in rows:
            _, left = drains.drain_keys(mirror, pks, deadline, redis=redis, tried=failed)
            is_complete = is_complete and not left
            if deadline.passed():
                return False
    # A mirror with as many changes as were asked for may have more.
    of_each = Counter(mirror for mirror, _, _ in found)
    return is_complete and not failed and MOST not in of_each.values()


def _list_quarantined() -> Command:
    """Return the command that lists the quarantined changes in Redis for readers."""
    name = naming.quarantined()
    found = changes.quarantined(LISTED + 1)
    if not found:
        return "DEL", name
    if len(found) > LISTED:
        # Readers then ask SQL.
        return "SET", name, doubt.TOO_MANY
    return "SET", name, orjson.dumps(found)


class Pulse(threading.Thread):
    """A thread that runs rounds until it is stopped."""

    def __init__(self) -> None:
        super().__init__(name="heartbeat", daemon=True)
        self._stopped = threading.Event()
        self._has_retried = False

    def run(self) -> None:
        while not self._stopped.is_set():
            self._run_round()
            self._stopped.wait(HEARTBEAT_INTERVAL_SECONDS)
        connections[changes.using()].close()

    def stop(self) -> None:
        """Stop after the present round."""
        self._stopped.set()

    def _run_round(self) -> None:
        try:
            # Before the heartbeat, which would otherwise vouch for a mirror whose trigger is missing.
            triggers.watch(relay_client())
            # The new process may have a corrected declaration or library.
            if not self._has_retried:
                changes.retry(Change.objects.all())
                self._has_retried = True
            beat()
        except Exception as error:
            is_away = isinstance(error, (RedisError, DatabaseError))
            text = "No heartbeat, readers ask SQL what is pending: %s"
            failures.add("heartbeat", text, error, error=None if is_away else error)
        else:
            failures.end("heartbeat", "The heartbeat is back")
        finally:
            connections[changes.using()].close_if_unusable_or_obsolete()
