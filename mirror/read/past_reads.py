"""Past reads: whether the reads of an earlier block of code would give the same replies now, in one round trip.

>>> with record() as seen:
...     page = render()
>>> past = PastReads.of(seen)  # None if SQL answered, or the block asked Redis for something else
>>> ahead = fetch(past.asked)
>>> ahead is not None and past.is_answered_by(ahead.needed)  # then ``page`` is what ``render`` would return
"""

import hashlib
import marshal
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from mirror.read.prefetch import Asked, Reading
from mirror.redis import quick
from mirror.redis.clients import client
from mirror.redis.recorder import Command, Recording


class PastReads(NamedTuple):
    """asked: all reads of the block, without the options of redis-py. digest: of their replies and generations."""

    asked: Asked
    digest: str

    @classmethod
    def of(cls, seen: Recording) -> "PastReads | None":
        """Return the reads of a recorded block, or None if the block depends on more than on them."""
        # A statement that only asked whether Redis is right adds nothing.
        asked_sql = len(seen.sql) > seen.checks
        if asked_sql or seen.fallbacks or _asked_for_more(seen):
            return None
        redis = client()
        by_command: dict[tuple[Any, ...], Any] = {}
        for args, reply in seen.replies:
            value = quick.read_reply(redis, args[0], {}, reply)
            # The data changed within the block, so no single moment gives these replies.
            if by_command.setdefault(args, value) != value:
                return None
        asked = Asked(tuple(seen.generations), tuple((args, {}) for args in by_command))
        return cls(asked, _make_digest(list(by_command.values()), list(seen.generations.values())))

    def is_answered_by(self, reading: Reading) -> bool:
        """Return whether these replies to ``asked`` are those of the block."""
        return _make_digest(reading.replies, reading.generations) == self.digest

    def to_json(self) -> list[Any]:
        """Return the reads as JSON has it. Raises UnicodeDecodeError if a command contains other bytes than text."""
        commands = [[_to_text(argument) for argument in args] for args, _ in self.asked.commands]
        return [self.asked.mirrors, commands, self.digest]

    @classmethod
    def from_json(cls, given: Sequence[Any]) -> "PastReads":
        """Return the reads that ``to_json`` returned."""
        mirrors, commands, digest = given
        return cls(Asked(tuple(mirrors), tuple((tuple(args), {}) for args in commands)), digest)


def _asked_for_more(seen: Recording) -> bool:
    """Return whether the block sent commands other than those of its reads and the markers around them."""
    of_reads: set[str] = set()
    for args, _ in seen.replies:
        of_reads.update(Command(str(args[0]), args[1:], 0).named())
    others = set(seen.keys()) - of_reads
    # Each read also asks for markers, the heartbeat and the clock, which are keys of the library itself.
    return not all(key.startswith("mirror:") for key in others)


def _make_digest(replies: Iterable[Any], generations: Iterable[str]) -> str:
    # Sets have no order that two processes share. The second version of marshal writes equal values as equal bytes.
    ordered = [sorted(reply) if isinstance(reply, set) else reply for reply in replies]
    return hashlib.blake2b(marshal.dumps([ordered, list(generations)], 2), digest_size=16).hexdigest()


def _to_text(argument: Any) -> Any:
    return argument.decode() if isinstance(argument, bytes) else argument
