"""The base of parity machines: a relay that crashes at any step, a Redis that is emptied, and checks at rest.

At rest, the live mirror equals a fresh rebuild and equals the content computed by the ORM.
"""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.outbox import changes
from mirror.redis.clients import relay_client
from mirror.relay import apply, drains, hints
from mirror.upkeep import rebuild
from mirror.verify import runs
from tests.support import state_machines
from tests.support.mirror import world
from tests.support.mirror.app.models import Follow, Group, Ignoring, Item, Label, Note, Reading, Writer
from tests.support.servers.cluster import open_state

MODELS = (Item.labels.through, Item, Label, Group, Follow, Note, Reading, Ignoring, Writer, Change)
EXAMPLES = int(os.environ.get("PARITY_EXAMPLES", "8"))
numbers = st.integers(0, 5)
steps = st.sampled_from(["watch", "read", "write", "mark", "done"])


class Crash(BaseException):
    """Stands for the death of a process: no code catches it."""


def pick(rows: Any, number: int) -> Any:
    """Return one of the rows, or None if there are none."""
    found = list(rows)
    return found[number % len(found)] if found else None


def crash_at(step: str) -> Callable[[str], None]:
    """Return a step callback that crashes before this step."""

    def crash(at: str) -> None:
        if at == step:
            raise Crash

    return crash


def once(step: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Return a step callback that runs ``do`` before this step, the first time."""
    done: list[str] = []

    def stand_still(at: str) -> None:
        if at == step and not done:
            done.append(at)
            do()

    return stand_still


class Machine(RuleBasedStateMachine):
    """A state machine on one database and one Redis, with accidents."""

    redis: Redis

    @initialize(hints_work=st.booleans())
    def begin(self, hints_work: bool) -> None:
        self.redis = open_state()
        self.redis.flushall()
        for model in MODELS:
            model._base_manager.all()._raw_delete("default")
        Change.objects.all()._raw_delete("default")
        self.flush = hints.flush
        if not hints_work:
            hints.flush = lambda: None
        self.populate()
        world.warm_own()
        self.open_up()

    def teardown(self) -> None:
        hints.flush = self.flush
        world.rest()
        assert not runs.verify(redis=relay_client())
        live = {key: said for key, said in world.dump(self.redis).items() if not key.endswith(":feed")}
        assert live == world.by_orm()
        self.is_right()
        self.redis.flushall()
        rebuild.rebuild()
        assert world.dump(self.redis) == live
        self.is_right()
        self.redis.close()

    def populate(self) -> None:
        """Create the rows that exist at the start."""

    def open_up(self) -> None:
        """Work on Redis after the initial rows were mirrored."""

    def is_right(self) -> None:
        """Check the data that cannot be compared key by key."""

    def others_go_on(self, which: int) -> None:
        """Write rows between two steps of a paused process."""

    def meanwhile(self, which: int) -> None:
        """Write rows between two steps of a paused process, and drain them before it continues."""
        self.others_go_on(which)
        drains.drain_all()

    @rule()
    def relay_runs(self) -> None:
        drains.drain_all()

    @rule(step=steps)
    def relay_crashes(self, step: str) -> None:
        self.drain_once(crash_at(step))

    @rule(step=steps, which=numbers)
    def others_go_on_while_a_drain_stands_still(self, step: str, which: int) -> None:
        self.drain_once(once(step, lambda: self.meanwhile(which)))

    def drain_once(self, step: Callable[[str], None]) -> None:
        keys, _ = changes.next_keys(0, 100)
        for name, pks in keys.items():
            if changes.WHOLE not in pks:
                try:
                    apply.drain(registry.get(name), pks, step=step)
                except Crash:
                    return

    @rule()
    def redis_is_emptied(self) -> None:
        self.redis.flushall()


def run(machine: type[Machine]) -> None:
    """Run random sequences of the machine's rules."""
    state_machines.run_machine(machine, examples=EXAMPLES)
