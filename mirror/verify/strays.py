"""Removal of strays."""

from collections.abc import Sequence

from mirror.comparison import plan, scan
from mirror.comparison.compare import Difference
from mirror.declare.mirrors import Mirror
from mirror.outbox.changes import WHOLE
from mirror.redis.session import Command, Session
from mirror.redis.types import RedisClient
from mirror.verify import repair, runs


def remove(mirror: Mirror, redis: RedisClient) -> int:
    """Remove all strays of a mirror after its rebuild. Return their number."""
    _remove_retired(mirror, redis)
    differences = runs.verify([mirror.name], redis=redis, all_strays=True)
    named: list[Difference] = []
    nameless: list[Difference] = []
    for difference in differences:
        (nameless if difference.pk == WHOLE else named).append(difference)
    _remove_at_once(nameless, redis)
    repair.order(named)
    repair.carry_out(named, redis=redis)
    return sum(difference.kind == "stray" for difference in differences)


def _remove_at_once(differences: Sequence[Difference], redis: RedisClient) -> None:
    """Remove the strays of a row whose key is ``WHOLE``. Its change would be one of everything, and lead here again."""
    commands: list[Command] = []
    for difference in differences:
        if difference.kind == "stray":
            entry = difference.entry
            commands += plan.commands([entry], ()) if entry else [("UNLINK", difference.key)]
    if commands:
        with Session(redis) as session:
            session.ask(commands)


def _remove_retired(mirror: Mirror, redis: RedisClient) -> None:
    """Remove the keys of earlier layouts, which no comparison knows."""
    owned = scan.Owned(mirror)
    with Session(redis) as session:
        for found in scan.keys(session):
            retired = filter(owned.is_retired, found)
            commands: list[Command] = [("UNLINK", key) for key in retired]
            if commands:
                session.ask(commands)
