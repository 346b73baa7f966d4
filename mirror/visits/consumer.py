"""The consumer: writes the visits of a stream to SQL, oldest first, and removes them.

The order of the steps for a batch:

1. Redis: read entries as the consumer group's only consumer: first those that a killed process read (they are
   pending), then new ones.
2. SQL: write them in one transaction.
3. Redis: acknowledge and delete them, in one transaction.

After a crash between any two steps the entries are still pending, and the next run writes them again, which changes
nothing (``VisitKind.save``). All processes share the consumer's name, so a run takes over the entries of a killed
process. A lease keeps two processes from writing the same entries.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from django.db import transaction
from redis.exceptions import ResponseError

from mirror.conf import setting
from mirror.outbox import changes
from mirror.outbox.errors import raise_if_away, say
from mirror.redis.clients import relay_client
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.relay.drains import Deadline
from mirror.utils.callbacks import Step, ignore
from mirror.utils.failure_log import FailureLog
from mirror.visits.declare import Visit, VisitKind

GROUP: Final = "sql"
CONSUMER: Final = "relay"
PENDING, NEW = "0", ">"  # what XREADGROUP reads
SEQUENCE_BITS: Final = 20  # of an id's number: a million entries in a millisecond
NUMBER_BITS: Final = 63
Entry = tuple[bytes, list[bytes] | None]  # id, and alternating fields and values; None: the stream has dropped it

failures: Final = FailureLog(logging.getLogger("mirror"))


def consume(
    kind: VisitKind, seconds: float | None = None, *, redis: RedisClient | None = None, step: Step = ignore
) -> int:
    """Write the visits that wait now to SQL, or as many as fit in ``seconds``. Return the number of removed entries.

    step: called with the name of each step before it. Raises the errors of redis-py and Django when Redis or SQL is
    away (all entries stay), and InTransaction inside a transaction, whose rollback would not restore the entries.
    """
    changes.refuse_transaction()
    run = _Run(kind, redis or relay_client(), step)
    deadline = Deadline(seconds)
    size = int(setting("CHUNK"))
    done = 0
    # Pending entries are older than new ones. A killed process may have left them.
    for start in (PENDING, NEW):
        while entries := run.read(start, size):
            run.write(entries)
            done += len(entries)
            if deadline.passed():
                return done
            if len(entries) < size:
                # These were all that waited.
                break
    return done


def parse_number(entry_id: bytes) -> int:
    """Return an id, ``<milliseconds>-<sequence>``, as one integer that fits into 63 bits and has the same order.

    While the server's clock is behind the last id, only the sequence rises. After a million such entries their numbers
    are those of the next milliseconds, in which at most one entry each has an equal number.
    """
    milliseconds, sequence = map(int, entry_id.split(b"-"))
    number = (milliseconds << SEQUENCE_BITS) + sequence
    if number >> NUMBER_BITS:
        raise ValueError(f"the id {entry_id!r} is too great")
    return number


class _Run:
    """A run of the consumer over one stream."""

    def __init__(self, kind: VisitKind, redis: RedisClient, step: Step) -> None:
        self.kind = kind
        self.redis = redis
        self.step = step
        self.stream = kind.keys[0]
        self._dropped = Counter[str]()

    def read(self, start: str, size: int) -> Sequence[Entry]:
        """Return the next entries. A new stream gets its group."""
        self.step("read")
        command: Command = ("XREADGROUP", "GROUP", GROUP, CONSUMER, "COUNT", size, "STREAMS", self.stream, start)
        with Session(self.redis) as session:
            try:
                (reply,) = session.ask([command])
            except ResponseError as error:
                if not str(error).startswith("NOGROUP"):
                    raise
                self._create_group(session)
                (reply,) = session.ask([command])
        if not reply:
            return []
        # A dictionary by stream, or with the older protocol RESP2 a list of pairs.
        by_stream: dict[bytes, Sequence[Entry]] = dict(reply)
        (entries,) = by_stream.values()
        return entries

    def _create_group(self, session: Session) -> None:
        # From the first entry, because visits may have come before the group.
        # An error means that another process was faster.
        with suppress(ResponseError):
            session.ask([("XGROUP", "CREATE", self.stream, GROUP, "0", "MKSTREAM")])

    def write(self, entries: Sequence[Entry]) -> None:
        """Write these entries to SQL and remove them from the stream."""
        self._dropped.clear()
        visits: list[Visit] = []
        for entry_id, fields in entries:
            visit = self._parse_entry(entry_id, fields) if fields else None
            if visit is not None:
                visits.append(visit)
        self.step("save")
        self._save_visits(visits)
        self.step("remove")
        self._remove_entries([entry_id for entry_id, _ in entries])
        # After the removal, because a run that is killed before it counts nothing and is repeated.
        for reason, number in self._dropped.items():
            self.kind.count_dropped(reason, number)

    def _remove_entries(self, ids: Sequence[bytes]) -> None:
        # XACK alone would leave the entries in the stream, where they count towards its length.
        with Session(self.redis) as session:
            session.execute([("XACK", self.stream, GROUP, *ids), ("XDEL", self.stream, *ids)])

    def _parse_entry(self, entry_id: bytes, fields: Sequence[bytes]) -> Visit | None:
        words = [word.decode(errors="replace") for word in fields]
        try:
            number = parse_number(entry_id)
            values = dict(zip(words[::2], words[1::2], strict=True))
            return Visit(number, self.kind.parse(values))
        except (ArithmeticError, LookupError, ValueError) as error:
            self._drop_visit("malformed", f"{entry_id.decode()} {words}", error)
            return None

    def _save_visits(self, visits: Sequence[Visit], *, is_retry: bool = False) -> None:
        """Write the visits, halving them after an error, so that a refused one does not delay the others.

        A single one is tried again, because a row that it names may have been deleted before the commit.
        """
        if not visits:
            return
        try:
            # Durable: an outer transaction could be rolled back when the entries are already removed.
            with transaction.atomic(using=str(setting("DATABASE")), durable=True):
                self.kind.save(visits)
        except Exception as error:
            raise_if_away(error)
            middle = len(visits) // 2
            if middle:
                self._save_visits(visits[:middle])
                self._save_visits(visits[middle:])
            elif is_retry:
                self._drop_visit("refused", str(visits[0].fact), error)
            else:
                self._save_visits(visits, is_retry=True)

    def _drop_visit(self, reason: str, about: str, error: Exception) -> None:
        self._dropped[reason] += 1
        text = "A visit of %s was dropped, because it is %s: %.200s (%.300s)"
        failures.add((self.kind.name, reason), text, self.kind.name, reason, about, say(error))
