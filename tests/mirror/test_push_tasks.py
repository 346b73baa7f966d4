"""Requests push a first slice, workers push the rest in short tasks, and the sweep sends tasks for the remainder."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import tasks
from mirror.models import Change, Identity
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import relay_client
from mirror.relay import drains, send
from mirror.upkeep import replay, sweeper
from mirror.warm import marker
from mirror.windows import push
from tests.mirror.notes import FEED, SOURCE, all_right, feed, make_readers, pending, push_pending, says
from tests.projects.mirrortest.models import Note, Writer
from tests.support.servers import RedisServer
from tests.support.timings import Timings

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("cluster")]
READERS = 6
Sent = list[tuple[str, str, list[str]]]


@pytest.fixture(autouse=True)
def no_hurry(settings: Settings) -> None:
    """Lift the budget of requests, for slow machines."""
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600}


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Collect the push tasks that are sent to Celery."""
    found: Sent = []

    def note(mirror: str, source: str, keys: Any = ()) -> bool:
        found.append((mirror, source, list(keys)))
        return True

    monkeypatch.setattr(send, "push", note)
    return found


def write(writer: Writer) -> Note:
    return Note.objects.create(writer=writer, topic="a")


class TestInTheRequest:
    def test_row_with_few_windows_is_delivered_completely_after_the_commit(
        self, readers: list[Writer], redis: Redis, sent: Sent
    ) -> None:
        note = write(readers[0])
        assert [says(redis, reader) for reader in readers] == [[note.pk]] * READERS
        assert not Change.objects.pending().exists()
        assert sent == []

    def test_row_with_many_windows_is_delivered_to_the_first_and_left_to_a_worker(
        self, readers: list[Writer], redis: Redis, sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push, "FIRST", 2)
        note = write(readers[0])
        assert [reader for reader in readers if says(redis, reader)] == readers[:3]
        assert sent == [("tfeed", SOURCE, [f"{note.pk}:{readers[0].pk}"])]
        assert changes.newest_unapplied() is None  # a push in progress sends no reader to SQL
        assert tasks.push("tfeed", SOURCE, [f"{note.pk}:{readers[0].pk}"]) == 1
        assert all_right(redis, readers)

    def test_rows_beyond_the_first_slice_are_left_to_a_worker(
        self, readers: list[Writer], sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push, "FIRST", READERS + 1)
        with transaction.atomic():
            keys = sorted(f"{write(readers[0]).pk}:{readers[0].pk}" for _ in range(5))
        assert sent == [("tfeed", SOURCE, keys)]
        assert len(pending()) == 4
        assert changes.newest_unapplied() == pending()[-1].id

    def test_rolled_back_row_is_not_pushed(self, readers: list[Writer], redis: Redis, sent: Sent) -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            write(readers[0])
            raise ZeroDivisionError
        write(readers[1])
        assert says(redis, readers[0]) == []

    def test_failing_row_is_left_to_the_sweep(
        self, readers: list[Writer], sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def reach(*args: object) -> list[Any]:
            raise ZeroDivisionError

        monkeypatch.setattr(type(FEED), "reach", reach)
        write(readers[0])
        assert len(pending()) == 1
        assert sent


@pytest.mark.usefixtures("no_hints")
class TestByWorkers:
    def test_task_stops_at_its_budget_and_sends_another(
        self, readers: list[Writer], redis: Redis, sent: Sent, timings: Timings
    ) -> None:
        """Rows that were written meanwhile are ahead of it in the queue."""
        timings(PUSH_BUDGET_SECONDS=0.0)
        keys = [f"{write(readers[0]).pk}:{readers[0].pk}"]
        assert tasks.push("tfeed", SOURCE, keys) == 0
        assert sent == [("tfeed", SOURCE, keys)]

    def test_sweep_sends_one_task_until_it_is_done(
        self, readers: list[Writer], redis: Redis, sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(send, "rebuild", lambda name: True)
        write(readers[0])
        sweeper.sweep()
        sweeper.sweep()
        assert sent == [("tfeed", SOURCE, [])]
        assert pending()
        assert tasks.push(*sent.pop()) == 1
        write(readers[0])
        sweeper.sweep()
        assert sent == [("tfeed", SOURCE, [])]

    def test_task_is_sent_again_if_the_broker_refused_it(
        self, readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(send, "push", lambda *args: False)
        write(readers[0])
        push.send_pending(redis)
        assert not redis.exists(naming.lease(f"push:tfeed:{SOURCE}"))

    def test_drain_with_a_deadline_pushes_nothing(self, readers: list[Writer], redis: Redis) -> None:
        note = write(readers[0])
        drains.drain_all(seconds=3600)
        assert len(pending()) == 1
        drains.drain_all()
        assert says(redis, readers[1]) == [note.pk]

    def test_push_tasks_have_their_own_queue(self, server: RedisServer, redis: Redis) -> None:
        assert send.push("tfeed", SOURCE, ["1:2"])
        with server.client(2) as broker:
            assert broker.llen("fanout") == 1
            assert broker.llen("relay") == 0

    def test_task_without_redis_leaves_the_row_pending(
        self, readers: list[Writer], redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(readers[0])
        redis_server.kill()
        assert tasks.push("tfeed", SOURCE, []) == 0
        assert len(pending()) == 1


@pytest.mark.usefixtures("no_hints")
@pytest.mark.only_on("single")  # after a loss a cluster is rebuilt instead of replayed
class TestReplay:
    """After Redis returns from an older file, recent pushes are repeated before the windows become warm."""

    @pytest.fixture
    def lost(self, readers: list[Writer], redis: Redis) -> list[int]:
        """Push two notes, one of them in part, and then act as if another incarnation without them answered.

        Return their ids.
        """
        whole, partly = write(readers[0]).pk, write(readers[0]).pk
        push.push_slices(pending()[:1])
        push.push_slice(pending(), 3)
        for reader in readers:
            redis.zrem(feed(reader), whole, partly)
        now = marker.now(relay_client())
        for name in ("tfeed", "treading", "tignoring"):
            key: Any = naming.marker(name)
            redis.set(key, redis.get(key).decode().replace(now, "another:life"))
        Change.objects.exclude(incarnation="").update(incarnation="another:life")
        Identity.objects.update(incarnation="another:life")
        redis.mset(dict.fromkeys((naming.clock(), naming.bare_clock()), repr(changes.clock() - 300)))
        return [partly, whole]

    def test_recent_pushes_are_repeated_before_the_windows_are_warm(
        self, readers: list[Writer], redis: Redis, lost: list[int]
    ) -> None:
        assert replay.check(relay_client()) != ""
        assert [says(redis, reader) for reader in readers] == [lost] * READERS
        assert marker.is_warm(relay_client(), "tfeed")
        assert not pending()

    def test_windows_stay_cold_while_pushes_cannot_be_repeated(
        self, readers: list[Writer], redis: Redis, lost: list[int]
    ) -> None:
        redis.delete(naming.marker("tignoring"))
        assert replay.check(relay_client()) == ""
        assert marker.is_warm(relay_client(), "treading")
        assert not marker.is_warm(relay_client(), "tfeed")
        assert len(pending()) == 2

    def test_progress_of_an_ended_incarnation_is_not_saved(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0])

        def over(step: str) -> None:
            if step == "note":
                Identity.objects.update(incarnation="the next life")

        push.push_slices(pending(), at=over)
        assert [change.applied_at for change in pending()] == [None]

    def test_replay_does_not_wait_for_new_pushes(self, readers: list[Writer], redis: Redis, lost: list[int]) -> None:
        write(readers[0])
        assert replay.check(relay_client()) != ""
        assert [change.cursor for change in pending()] == [None]


@pytest.mark.usefixtures("no_hints")
def test_unapplied_push_starts_over(readers: list[Writer]) -> None:
    write(readers[0])
    push_pending()
    Change.objects.filter(source=SOURCE).update(incarnation="another", cursor="7")
    assert changes.unapply_since(timezone.now() - timedelta(hours=1), "this") >= 1
    assert [(change.cursor, change.incarnation) for change in pending()] == [(None, "another")]
