"""Who pushes what: the request a first step, a worker the rest, a while at a time; the sweep what nobody was told."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import marker, naming, outbox, push, relay, replay, send, sweeper, tasks
from mirror.models import Change, Identity
from mirror.redis import relay_client
from tests.support.mirror.app.models import Note, Writer
from tests.support.mirror.pushing import SOURCE, all_right, feed, make_readers, pending, push_pending, says

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.on_sqlite]
READERS = 6
Sent = list[tuple[str, str, list[str]]]


@pytest.fixture(autouse=True)
def no_hurry(settings: Settings) -> None:
    """A request has all the time it needs, however busy the machine is."""
    settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600}


@pytest.fixture
def readers() -> list[Writer]:
    return make_readers(READERS)


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """The tasks that were sent."""
    found: Sent = []

    def note(mirror: str, source: str, keys: Any = ()) -> bool:
        found.append((mirror, source, list(keys)))
        return True

    monkeypatch.setattr(send, "push", note)
    return found


def write(writer: Writer) -> Note:
    return Note.objects.create(writer=writer, topic="a")


class TestInTheRequest:
    def test_a_row_that_reaches_few_is_everywhere_when_it_is_committed(
        self, readers: list[Writer], redis: Redis, sent: Sent
    ) -> None:
        note = write(readers[0])
        assert [says(redis, reader) for reader in readers] == [[note.pk]] * READERS
        assert not Change.objects.pending().exists()
        assert sent == []

    def test_of_many_the_first_have_it_and_a_worker_is_told(
        self, readers: list[Writer], redis: Redis, sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push, "FIRST", 2)
        note = write(readers[0])
        assert [reader for reader in readers if says(redis, reader)] == readers[:3]
        assert sent == [("tfeed", SOURCE, [f"{note.pk}:{readers[0].pk}"])]
        assert outbox.newest_unapplied() is None  # nobody is kept from Redis until the last one has it
        assert tasks.push("tfeed", SOURCE, [f"{note.pk}:{readers[0].pk}"]) == 1
        assert all_right(redis, readers)

    def test_of_many_rows_those_that_do_not_fit_are_left_to_a_worker(
        self, readers: list[Writer], sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(push, "FIRST", READERS + 1)
        with transaction.atomic():
            keys = sorted(f"{write(readers[0]).pk}:{readers[0].pk}" for _ in range(5))
        assert sent == [("tfeed", SOURCE, keys)]
        assert len(pending()) == 4
        assert outbox.newest_unapplied() == pending()[-1].id

    def test_what_is_rolled_back_goes_nowhere(self, readers: list[Writer], redis: Redis, sent: Sent) -> None:
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            write(readers[0])
            raise ZeroDivisionError
        write(readers[1])
        assert says(redis, readers[0]) == []

    def test_one_that_cannot_be_worked_out_is_left_to_the_sweep(
        self, readers: list[Writer], sent: Sent, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def reach(*args: object) -> list[Any]:
            raise ZeroDivisionError

        monkeypatch.setattr(type(feed()), "reach", reach)
        write(readers[0])
        assert len(pending()) == 1
        assert sent


@pytest.mark.usefixtures("no_hints")
class TestByWorkers:
    def test_a_task_ends_after_a_while_and_sends_another(
        self, readers: list[Writer], redis: Redis, sent: Sent, settings: Settings
    ) -> None:
        """What was written meanwhile is in the queue before it."""
        settings.MIRROR = {**settings.MIRROR, "PUSH_BUDGET_SECONDS": 0.0}
        keys = [f"{write(readers[0]).pk}:{readers[0].pk}"]
        assert tasks.push("tfeed", SOURCE, keys) == 0
        assert sent == [("tfeed", SOURCE, keys)]

    def test_the_sweep_sends_one_task_for_all_until_it_is_done(
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

    def test_a_task_that_the_broker_does_not_take_is_sent_again(
        self, readers: list[Writer], redis: Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(send, "push", lambda *args: False)
        write(readers[0])
        push.send_pending(redis)
        assert not redis.exists(naming.lease(f"push:tfeed:{SOURCE}"))

    def test_a_drain_that_has_little_time_leaves_pushes_alone(self, readers: list[Writer], redis: Redis) -> None:
        note = write(readers[0])
        relay.drain_all(seconds=3600)
        assert len(pending()) == 1
        relay.drain_all()
        assert says(redis, readers[1]) == [note.pk]

    def test_it_is_sent_to_a_queue_of_its_own(self, server: Any, redis: Redis) -> None:
        assert send.push("tfeed", SOURCE, ["1:2"])
        with server.client(2) as broker:
            assert broker.llen("fanout") == 1
            assert broker.llen("relay") == 0

    def test_while_redis_is_away_a_task_leaves_it(
        self, readers: list[Writer], redis_server: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(readers[0])
        redis_server.kill()
        assert tasks.push("tfeed", SOURCE, []) == 0
        assert len(pending()) == 1


@pytest.mark.usefixtures("no_hints")
class TestReplay:
    """Redis came back from an older file: what was pushed since is pushed again, and then windows count as whole."""

    @pytest.fixture
    def lost(self, readers: list[Writer], redis: Redis) -> list[int]:
        """Two notes that were pushed, one of them not to the end, in another life of Redis, and are not in this one."""
        whole, partly = write(readers[0]).pk, write(readers[0]).pk
        push.run(pending()[:1])
        push.step(pending(), 3)
        for reader in readers:
            redis.zrem(feed().key(str(reader.pk)), whole, partly)
        now = marker.now(relay_client())
        for name in ("tfeed", "treading", "tignoring"):
            key: Any = naming.marker(name)
            redis.set(key, redis.get(key).decode().replace(now, "another:life"))
        Change.objects.exclude(incarnation="").update(incarnation="another:life")
        Identity.objects.update(incarnation="another:life")
        redis.set(naming.clock(), repr(outbox.clock() - 300))
        return [partly, whole]

    def test_it_is_pushed_again_before_the_windows_are_whole(
        self, readers: list[Writer], redis: Redis, lost: list[int]
    ) -> None:
        assert replay.check(relay_client()) != ""
        assert [says(redis, reader) for reader in readers] == [lost] * READERS
        assert marker.is_warm(relay_client(), "tfeed")
        assert not pending()

    def test_as_long_as_it_cannot_be_the_windows_are_not_whole(
        self, readers: list[Writer], redis: Redis, lost: list[int]
    ) -> None:
        redis.delete(naming.marker("tignoring"))
        assert replay.check(relay_client()) == ""
        assert marker.is_warm(relay_client(), "treading")
        assert not marker.is_warm(relay_client(), "tfeed")
        assert len(pending()) == 2

    def test_progress_in_a_life_that_is_over_is_not_noted(self, readers: list[Writer], redis: Redis) -> None:
        write(readers[0])

        def over(step: str) -> None:
            if step == "note":
                Identity.objects.update(incarnation="the next life")

        push.run(pending(), at=over)
        assert [change.applied_at for change in pending()] == [None]

    def test_what_nobody_has_begun_is_not_waited_for(
        self, readers: list[Writer], redis: Redis, lost: list[int]
    ) -> None:
        write(readers[0])
        assert replay.check(relay_client()) != ""
        assert [change.cursor for change in pending()] == [None]


@pytest.mark.usefixtures("no_hints")
def test_what_was_pushed_is_pending_again_from_the_start(readers: list[Writer]) -> None:
    write(readers[0])
    push_pending()
    Change.objects.filter(source=SOURCE).update(incarnation="another", cursor="7")
    assert outbox.unapply_since(timezone.now() - timedelta(hours=1), "this") >= 1
    assert [(change.cursor, change.incarnation) for change in pending()] == [(None, "another")]
