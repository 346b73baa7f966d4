"""The rules of the parity machine for windows.

Writers write, read and ignore. Windows are made, deleted and expire. Warm-ups and pushes are killed or paused.
"""

from collections.abc import Callable
from typing import Any

from django.db import connection
from hypothesis import strategies as st
from hypothesis.stateful import rule

from mirror.outbox import progress
from mirror.redis.clients import relay_client
from mirror.windows import push, window
from mirror.windows.declare import MAKING
from tests.support.mirror.app.models import Ignoring, Note, Reading, Writer
from tests.support.mirror.machine import Crash, Machine, crash_at, numbers, once, pick, steps
from tests.support.mirror.notes import FEED, cut, feed, held, is_right, warm, whole
from tests.support.mirror.world import feed_by_orm

topics = st.sampled_from("abc")
push_steps = st.sampled_from(["guard", "read", "deliver", "finish", "note"])


class NoteRules(Machine):
    """Writers and their notes."""

    def populate(self) -> None:
        """Create three writers with two notes, each reading another one. Without them most rules would do nothing."""
        people = [Writer.objects.create(name="w") for _ in range(3)]
        for number, writer in enumerate(people):
            Reading.objects.create(reader=writer, writer=people[number - 1])
            Note.objects.bulk_create(Note(writer=writer, topic="a") for _ in range(2))

    def open_up(self) -> None:
        for writer in Writer.objects.all():
            warm(writer)

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
        self.warm_up(which, crash_at(step))

    @rule(which=numbers, step=steps, other=numbers)
    def others_go_on_while_a_warm_up_stands_still(self, which: int, step: str, other: int) -> None:
        self.warm_up(which, once(step, lambda: self.meanwhile(other)))

    @rule(step=push_steps, limit=st.integers(2, 4), killed=st.booleans(), other=numbers)
    def a_push_is_killed_or_stands_still(self, step: str, limit: int, killed: bool, other: int) -> None:
        group = list(progress.pending("tfeed", Note._meta.db_table)[:3])
        if group:
            try:
                at = crash_at(step) if killed else once(step, lambda: self.meanwhile(other))
                push.push_slice(group, limit, at=at)
            except Crash:
                return

    def somebody(self, number: int) -> Any:
        return pick(Writer.objects.order_by("pk"), number)

    def warm_up(self, which: int, step: Callable[[str], None]) -> None:
        if writer := self.somebody(which):
            try:
                window.warm(FEED, str(writer.pk), relay_client(), step=step)
            except Crash:
                return

    def others_go_on(self, which: int) -> None:
        self.write_many(which, "a", 1 + which % 3)
        self.hide_or_show(which, which % 2 == 0)
        self.read(which, which + 1, which % 3 == 0)
        self.read_no_more(which + 2, False)

    # --- at rest

    def is_right(self) -> None:
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
