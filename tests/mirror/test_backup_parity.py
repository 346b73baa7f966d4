"""Random sequences of writes, flushes, interruptions and losses of Redis keep every backup consistent.

Redis loses nothing that it kept, no newer value in SQL is overwritten, and readers and writers see every acknowledged
value.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from redis import Redis

from mirror.backup.access import fetch
from mirror.backup.declare import Backup
from mirror.backup.flush import flush
from mirror.backup.restore import restore
from mirror.backup.sweep import sweep
from mirror.backup.verify import verify
from mirror.models import BackupState
from mirror.redis import naming
from tests.support import state_machines
from tests.support.mirror.app.backups import Content, baskets, best, play, put
from tests.support.mirror.app.models import Basket, Best
from tests.support.mirror.backup_world import Lives, Stop, marked

PLAYERS, BASKETS = ("alice", "bob", "carol"), ("a", "b")
STEPS = ("claim", "read", "check", "save", "keep", "clear")
both = st.sampled_from([best, baskets])
steps = st.sampled_from(STEPS)
players, names = st.sampled_from(PLAYERS), st.sampled_from(BASKETS)
scores = st.integers(0, 9)
lines, quantities = st.sampled_from("xyz"), st.integers(0, 3)
losses = st.sampled_from(["emptied", "gone back", "emptied and restored", "gone back and restored"])


class Site(RuleBasedStateMachine):
    """A state machine. Its model of the truth holds the acknowledged values, which are in SQL, in Redis, or in both."""

    redis: Redis
    lives: Lives

    @initialize(restored=st.booleans())
    def begin(self, restored: bool) -> None:
        self.redis.flushall()
        for model in (Best, Basket, BackupState):
            model.objects.all()._raw_delete("default")
        if restored:
            self.restore_both()
        self.past = self.lives.past()
        self.best: dict[str, int] = {}
        self.baskets: dict[str, dict[str, int]] = {}

    def teardown(self) -> None:
        for backup in (best(), baskets()):
            restore(backup)
            flush(backup)
            assert marked(self.redis, backup) == set()
            assert verify(backup) == []
        assert best().load(PLAYERS) == best().read(self.redis, PLAYERS) == self.best
        assert {name: value.lines for name, value in baskets().load(BASKETS).items()} == self.baskets
        held = baskets().read(self.redis, BASKETS)
        assert {name: value.lines for name, value in held.items()}.items() <= self.baskets.items()

    # --- users

    @rule(player=players, score=scores)
    def play(self, player: str, score: int) -> None:
        play(self.redis, player, score)
        self.best[player] = max(score, self.best.get(player, 0))

    @rule(name=names, line=lines, quantity=quantities)
    def put(self, name: str, line: str, quantity: int) -> None:
        basket = {**self.baskets.get(name, {}), line: quantity}
        self.baskets[name] = {line: n for line, n in basket.items() if n}
        assert put(name, line, quantity) == len(self.baskets[name])

    @rule()
    def look_at_scores(self) -> None:
        assert fetch(best(), PLAYERS) == self.best

    @rule()
    def look_at_baskets(self) -> None:
        assert {name: value.lines for name, value in fetch(baskets(), BASKETS).items()} == self.baskets

    # --- scheduled work

    @rule()
    def swept(self) -> None:
        for backup in (best(), baskets()):
            self.redis.delete(naming.flushed(backup.name))
        sweep()

    @rule(backup=both)
    def flushed(self, backup: Callable[[], Backup]) -> None:
        flush(backup())

    @rule(backup=both)
    def restored(self, backup: Callable[[], Backup]) -> None:
        restore(backup())

    # --- accidents

    @rule(backup=both, step=steps)
    def flush_is_killed(self, backup: Callable[[], Backup], step: str) -> None:
        def kill(name: str) -> None:
            if name == step:
                raise Stop

        self.flush(backup(), kill)

    @rule(backup=both, step=steps, player=players, name=names, line=lines, number=st.integers(1, 9))
    def flush_is_overtaken(
        self, backup: Callable[[], Backup], step: str, player: str, name: str, line: str, number: int
    ) -> None:
        def overtake() -> None:
            self.play(player, number)
            self.put(name, line, number)
            flush(backup())

        self.flush(backup(), self.once(step, overtake))

    @rule(backup=both, step=steps, loss=losses, killed=st.booleans())
    def redis_is_lost_under_a_flush(self, backup: Callable[[], Backup], step: str, loss: str, killed: bool) -> None:
        def lose() -> None:
            self.lose(loss)
            if killed:
                raise Stop

        self.flush(backup(), self.once(step, lose))
        self.see_what_is_left()

    @rule()
    def remember(self) -> None:
        self.past = self.lives.past()

    @rule(loss=losses)
    def redis_is_lost(self, loss: str) -> None:
        self.lose(loss)
        self.see_what_is_left()

    def flush(self, backup: Backup, step: Callable[[str], None]) -> None:
        try:
            flush(backup, step=step)
        except Stop:
            return

    def once(self, step: str, do: Callable[[], None]) -> Callable[[str], None]:
        left = [do]

        def at(name: str) -> None:
            if name == step and left:
                left.pop()()

        return at

    def lose(self, loss: str) -> None:
        if loss.startswith("emptied"):
            self.redis.flushall()
        else:
            self.lives.come_back(self.past)
        if loss.endswith("restored"):
            self.restore_both()

    def restore_both(self) -> None:
        for backup in (best(), baskets()):
            restore(backup)

    def see_what_is_left(self) -> None:
        """Reset the model to the newer of the values in SQL and in Redis, as a loss leaves them."""
        self.best = newer(best(), PLAYERS, self.redis, lambda score: score)
        left = newer(baskets(), BASKETS, self.redis, lambda content: content.version)
        self.baskets = {name: content.lines for name, content in left.items()}


def newer(backup: Backup, items: tuple[str, ...], redis: Redis, age: Callable[[Any], int]) -> dict[str, Any]:
    """Return the newer value of each item."""
    sides: list[dict[str, int | Content]] = [dict(backup.load(items)), dict(backup.read(redis, items))]
    found = {item: [side[item] for side in sides if item in side] for item in items}
    return {item: max(values, key=age) for item, values in found.items() if values}


EXAMPLES = int(os.environ.get("PARITY_EXAMPLES", "10"))


@pytest.mark.slow
def test_no_sequence_of_operations_loses_or_reverts_a_kept_value(committed: None, redis: Redis, lives: Lives) -> None:
    Site.redis, Site.lives = redis, lives
    state_machines.run_machine(Site, examples=EXAMPLES)
