"""What every parity machine has: a beginning, a relay that crashes anywhere, a Redis that is emptied, and rest.

At rest means: live mirror == fresh rebuild == what the ORM says.
"""

import os
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from redis import Redis

from mirror import apply, hints, outbox, rebuild, registry, relay, verify
from mirror.models import Change
from mirror.redis import relay_client
from tests.support import machines
from tests.support.mirror import world
from tests.support.mirror.app.models import Follow, Group, Ignoring, Item, Label, Note, Reading, Writer
from tests.support.servers.redis import main_server

MODELS = (Item.labels.through, Item, Label, Group, Follow, Note, Reading, Ignoring, Writer, Change)
EXAMPLES = int(os.environ.get("PARITY_EXAMPLES", "8"))
numbers = st.integers(0, 5)
steps = st.sampled_from(["watch", "read", "write", "mark", "done"])


class Crash(BaseException):
    """The process is gone: nothing that catches errors may catch this."""


def pick(rows: Any, number: int) -> Any:
    """One of these, or None if there is none."""
    found = list(rows)
    return found[number % len(found)] if found else None


def crash_at(step: str) -> Callable[[str], None]:
    """Ends the process before a step."""

    def crash(at: str) -> None:
        if at == step:
            raise Crash

    return crash


def once(step: str, do: Callable[[], object]) -> Callable[[str], None]:
    """Something that happens before a step, the first time that it comes."""
    done: list[str] = []

    def stand_still(at: str) -> None:
        if at == step and not done:
            done.append(at)
            do()

    return stand_still


class Machine(RuleBasedStateMachine):
    """One database and one Redis, and accidents."""

    redis: Redis

    @initialize(hints_work=st.booleans())
    def begin(self, hints_work: bool) -> None:
        self.redis = main_server().client()
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
        assert not verify.verify(redis=relay_client())
        live = {key: said for key, said in world.dump(self.redis).items() if not key.endswith(":feed")}
        assert live == world.by_orm()
        self.is_right()
        self.redis.flushall()
        rebuild.rebuild()
        assert world.dump(self.redis) == live
        self.is_right()
        self.redis.close()

    def populate(self) -> None:
        """What is there when it begins."""

    def open_up(self) -> None:
        """What is done when that is in Redis."""

    def is_right(self) -> None:
        """Look at what cannot be compared key by key."""

    def others_go_on(self, which: int) -> None:
        """What may be written between two steps of whoever stands still."""

    def meanwhile(self, which: int) -> None:
        """What comes between two steps of whoever stands still: it arrives before they go on."""
        self.others_go_on(which)
        relay.drain_all()

    @rule()
    def relay_runs(self) -> None:
        relay.drain_all()

    @rule(step=steps)
    def relay_crashes(self, step: str) -> None:
        self.drain_once(crash_at(step))

    @rule(step=steps, which=numbers)
    def others_go_on_while_a_drain_stands_still(self, step: str, which: int) -> None:
        self.drain_once(once(step, lambda: self.meanwhile(which)))

    def drain_once(self, step: Callable[[str], None]) -> None:
        keys, _ = outbox.next_keys(0, 100)
        for name, pks in keys.items():
            if outbox.WHOLE not in pks:
                try:
                    apply.drain(registry.get(name), pks, step=step)
                except Crash:
                    return

    @rule()
    def redis_is_emptied(self) -> None:
        self.redis.flushall()


def run(machine: type[Machine]) -> None:
    """Have it do many things in any order."""
    machines.run(machine, examples=EXAMPLES)
