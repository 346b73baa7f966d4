"""The rules of the parity machines that are about the relay, and about notes and their windows.

The relay crashes at any step, and Redis is emptied. Writers write, read and ignore. Windows are made, deleted and
expire. Warm-ups and pushes are killed or paused.
"""

import os
from collections.abc import Callable
from typing import Any, Final

from django.db import connection
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from redis import Redis

from mirror import registry
from mirror.models import Change
from mirror.outbox import changes, progress
from mirror.redis.clients import relay_client
from mirror.relay import apply, drains, hints
from mirror.upkeep import rebuild
from mirror.verify import runs
from mirror.windows import push, window
from mirror.windows.declare import MAKING
from tests.mirror.notes import FEED, cut, feed, held, is_right, warm, whole
from tests.projects.mirrortest.models import Follow, Group, Ignoring, Item, Label, Note, Reading, Writer
from tests.support import state_machines
from tests.support.killed import Killed, before
from tests.support.mirror import world
from tests.support.mirror.world import feed_by_orm
from tests.support.servers.cluster import open_state

MODELS: Final = (Item.labels.through, Item, Label, Group, Follow, Note, Reading, Ignoring, Writer, Change)
EXAMPLES: Final = int(os.environ.get("PARITY_EXAMPLES", "8"))
numbers = st.integers(0, 5)
steps = st.sampled_from(["watch", "read", "write", "mark", "done"])
topics = st.sampled_from("abc")
push_steps = st.sampled_from(["guard", "read", "deliver", "finish", "note"])


def pick(rows: Any, number: int) -> Any:
    """Return one of the rows, or None if there are none."""
    found = list(rows)
    return found[number % len(found)] if found else None


def run(machine: type[RuleBasedStateMachine]) -> None:
    """Run random sequences of the machine's rules."""
    state_machines.run_machine(machine, examples=EXAMPLES)


class NoteRules(RuleBasedStateMachine):
    """Writers and their notes, on one database and one Redis, with accidents."""

    redis: Redis

    @initialize(hints_work=st.booleans())
    def begin(self, hints_work: bool) -> None:
        self.redis = open_state()
        self.redis.flushall()
        for model in (*MODELS, Change):
            model._base_manager.all()._raw_delete("default")
        self.flush = hints.flush
        if not hints_work:
            hints.flush = lambda: None
        self.populate()
        world.warm_own()
        for writer in Writer.objects.all():
            warm(writer)

    def teardown(self) -> None:
        hints.flush = self.flush
        world.rest()
        assert not runs.verify(redis=relay_client())
        live = {key: said for key, said in world.dump(self.redis).items() if not key.endswith(":feed")}
        assert live == world.by_orm()
        self.check_feeds()
        self.redis.flushall()
        rebuild.rebuild()
        assert world.dump(self.redis) == live
        self.check_feeds()
        self.redis.close()

    # --- the relay

    @rule()
    def relay_runs(self) -> None:
        drains.drain_all()

    @rule(step=steps)
    def relay_crashes(self, step: str) -> None:
        self.drain_once(before(step))

    @rule(step=steps, which=numbers)
    def others_go_on_while_a_drain_stands_still(self, step: str, which: int) -> None:
        self.drain_once(before(step, lambda: self.meanwhile(which)))

    def drain_once(self, step: Callable[[str], None]) -> None:
        keys, _ = changes.next_keys(0, 100)
        for name, pks in keys.items():
            if changes.WHOLE not in pks:
                try:
                    apply.drain(registry.get(name), pks, step=step)
                except Killed:
                    return

    @rule()
    def redis_is_emptied(self) -> None:
        self.redis.flushall()

    def meanwhile(self, which: int) -> None:
        """Write rows between two steps of a paused process, and drain them before it continues."""
        self.others_go_on(which)
        drains.drain_all()

    def populate(self) -> None:
        """Create three writers with two notes, each reading another one. Without them most rules would do nothing."""
        people = [Writer.objects.create(name="w") for _ in range(3)]
        for number, writer in enumerate(people):
            Reading.objects.create(reader=writer, writer=people[number - 1])
            Note.objects.bulk_create(Note(writer=writer, topic="a") for _ in range(2))

    # --- writing

    @rule(which=numbers, topic=topics)
    def write(self, which: int, topic: str) -> None:
        if writer := self.somebody(which):
            Note.objects.create(writer=writer, topic=topic)

    @rule(which=numbers, topic=topics, count=st.integers(1, 8))
    def write_many(self, which: int, topic: str, count: int) -> None:
        if writer := self.somebody(which):
            Note.objects.bulk_create(Note(writer=writer, topic=topic) for _ in range(count))

    @rule(which=numbers)
    def drop_a_note(self, which: int) -> None:
        if note := pick(Note.objects.order_by("-pk"), which):
            note.delete()

    @rule(which=numbers, hidden=st.booleans())
    def hide_or_show(self, which: int, hidden: bool) -> None:
        if note := pick(Note.objects.order_by("-pk"), which):
            Note.objects.filter(pk=note.pk).update(hidden=hidden)

    @rule(which=numbers, topic=topics)
    def a_note_is_about_something_else(self, which: int, topic: str) -> None:
        if note := pick(Note.objects.order_by("-pk"), which):
            with connection.cursor() as cursor:
                cursor.execute("UPDATE mirrortest_note SET topic = %s WHERE id = %s", [topic, note.pk])

    # --- writers

    @rule()
    def somebody_comes(self) -> None:
        Writer.objects.create(name="w")

    @rule(which=numbers)
    def somebody_goes(self, which: int) -> None:
        if writer := self.somebody(which):
            writer.delete()

    @rule(which=numbers, active=st.booleans())
    def somebody_rests(self, which: int, active: bool) -> None:
        if writer := self.somebody(which):
            Writer.objects.filter(pk=writer.pk).update(active=active)

    @rule(which=numbers, other=numbers, ignores=st.booleans())
    def read(self, which: int, other: int, ignores: bool) -> None:
        reader, writer = self.somebody(which), self.somebody(other)
        if reader and reader != writer:
            model: Any = Ignoring if ignores else Reading
            model.objects.get_or_create(reader=reader, writer=writer)

    @rule(which=numbers, ignores=st.booleans())
    def read_no_more(self, which: int, ignores: bool) -> None:
        model: Any = Ignoring if ignores else Reading
        model.objects.filter(reader=self.somebody(which)).delete()

    # --- windows and accidents

    @rule(which=numbers)
    def somebody_opens_their_feed(self, which: int) -> None:
        if writer := self.somebody(which):
            warm(writer)

    @rule(which=numbers, soon=st.booleans())
    def a_feed_is_taken_away_or_runs_out(self, which: int, soon: bool) -> None:
        if writer := self.somebody(which):
            if soon:
                self.redis.pexpire(feed(writer), 1)
            else:
                window.cool(FEED, [str(writer.pk)], self.redis)

    @rule(which=numbers, step=steps)
    def a_warm_up_is_killed(self, which: int, step: str) -> None:
        self.warm_up(which, before(step))

    @rule(which=numbers, step=steps, other=numbers)
    def others_go_on_while_a_warm_up_stands_still(self, which: int, step: str, other: int) -> None:
        self.warm_up(which, before(step, lambda: self.meanwhile(other)))

    @rule(step=push_steps, limit=st.integers(2, 4), killed=st.booleans(), other=numbers)
    def a_push_is_killed_or_stands_still(self, step: str, limit: int, killed: bool, other: int) -> None:
        group = list(progress.pending("tfeed", Note._meta.db_table)[:3])
        if group:
            try:
                at = before(step) if killed else before(step, lambda: self.meanwhile(other))
                push.push_slice(group, limit, at=at)
            except Killed:
                return

    def somebody(self, number: int) -> Any:
        return pick(Writer.objects.order_by("pk"), number)

    def warm_up(self, which: int, step: Callable[[str], None]) -> None:
        if writer := self.somebody(which):
            try:
                window.warm(FEED, str(writer.pk), relay_client(), step=step)
            except Killed:
                return

    def others_go_on(self, which: int) -> None:
        self.write_many(which, "a", 1 + which % 3)
        self.hide_or_show(which, which % 2 == 0)
        self.read(which, which + 1, which % 3 == 0)
        self.read_no_more(which + 2, False)

    # --- at rest

    def check_feeds(self) -> None:
        """Check every existing feed against the ORM from its floor upwards. Then warm and check all feeds."""
        known = {feed(writer): writer for writer in Writer.objects.all()}
        for name in list(self.redis.scan_iter("twriter:*:feed", count=1000)):
            if self.redis.zscore(name, "0") not in (MAKING, None):
                assert is_right(known[name.decode()])
        for writer in known.values():
            self.redis.delete(feed(writer))
            assert warm(writer)
            ids = feed_by_orm(writer.pk)
            assert held(writer) == (whole(*ids) if len(ids) <= FEED.length else cut(*ids[: FEED.length]))
