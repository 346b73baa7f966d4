"""The reader of windows gives the same ids from Redis and from SQL, within a window and below it."""

from contextlib import AbstractContextManager, nullcontext

import pytest
from asgiref.sync import async_to_sync
from redis import Redis

import mirror
from mirror import WindowMirror
from mirror.redis import naming
from mirror.redis.recorder import record
from mirror.relay import drains, send
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from tests.mirror.notes import feed, notes, warm, writer
from tests.projects.mirrortest.models import Note
from tests.projects.mirrortest.windows import FEED as LENGTH
from tests.projects.mirrortest.windows import OF_WRITER, FeedWindow, NotesOfTopic, NotesOfWriter

pytestmark = pytest.mark.usefixtures("committed", "no_hints")
ENGINES = pytest.mark.parametrize("engine", ["Redis", "SQL"])
WINDOWS = pytest.mark.parametrize("window", [NotesOfWriter, FeedWindow])


@pytest.fixture(autouse=True)
def mirrors_are_warm(committed: None, redis: Redis) -> None:
    rebuild.rebuild(["tfeed", "tnotes", "treading", "tignoring"])


def only(engine: str) -> AbstractContextManager[None]:
    return sql_only() if engine == "SQL" else nullcontext()


@ENGINES
@WINDOWS
def test_latest_ids_are_equal_and_continue_below_the_window(window: type[WindowMirror], engine: str) -> None:
    alice, bob = writer("alice"), writer("bob")
    ids = notes(alice, LENGTH + 5)
    notes(bob)
    drains.drain_all()
    warm(alice)
    with only(engine):
        for size in (1, 3, OF_WRITER, LENGTH, LENGTH + 3, 100):
            found: list[int] = []
            while page := window.latest(alice.pk, size, found[-1] if found else None):
                assert len(page) <= size
                found += page
            assert found == ids
        assert window.latest(alice.pk, 0) == []
        assert window.latest(alice.pk, 3, ids[-1]) == []
        assert async_to_sync(window.alatest)(str(alice.pk), 2, ids[1]) == ids[2:4]


@WINDOWS
def test_a_window_answers_in_one_round_trip_and_sql_only_below_it(window: type[WindowMirror], redis: Redis) -> None:
    alice = writer("alice")
    ids = notes(alice, LENGTH + 5)
    drains.drain_all()
    warm(alice)
    window.latest(alice.pk, 1)  # opens the connection
    for size, below, statements in ((window.length, None, 0), (window.length + 1, None, 1), (2, ids[-2], 1)):
        with record() as seen:
            window.latest(alice.pk, size, below)
        assert (seen.round_trips, len(seen.sql)) == (1, statements)
    Note.objects.filter(pk__in=ids[2:]).delete()
    drains.drain_all()
    redis.delete(feed(alice))  # it would remain a cut one
    warm(alice)
    with record() as seen:
        assert window.latest(alice.pk, 3) == ids[:2]  # SQL has no more
    assert (seen.round_trips, len(seen.sql)) == (1, 0)


def test_a_cold_window_is_answered_by_sql_and_warmed(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    requested = list[tuple[str, ...]]()

    def request(*window: str) -> bool:
        requested.append(window)
        return True

    monkeypatch.setattr(send, "warm", request)
    alice = writer("alice")
    ids = notes(alice, 3)
    drains.drain_all()
    redis.delete(feed(alice))
    with record() as seen:
        assert FeedWindow.latest(alice.pk, 2) == ids[:2]
    assert len(seen.sql) == 1
    assert requested == [("tfeed", str(alice.pk))]
    warm(alice)
    assert FeedWindow.latest(alice.pk, 2) == ids[:2]
    assert len(requested) == 1


def test_a_cold_mirror_is_answered_by_sql(redis: Redis) -> None:
    alice = writer("alice")
    ids = notes(alice, 3)
    redis.delete(naming.marker("tnotes"))
    with record() as seen:
        assert NotesOfWriter.latest(alice.pk, 2) == ids[:2]
    assert any("note" in str(statement) for statement in seen.sql)


def test_a_read_window_lives_longer(redis: Redis) -> None:
    alice = writer("alice")
    warm(alice)
    redis.expire(feed(alice), 10)
    FeedWindow.latest(alice.pk, 2)
    assert redis.ttl(feed(alice)) > FeedWindow.life_seconds - 10


def test_windows_are_read_together_with_others() -> None:
    alice, bob = writer("alice"), writer("bob")
    hers, his = notes(alice, 3), notes(bob, 2)
    drains.drain_all()
    NotesOfWriter.latest(alice.pk, 1)
    with record() as seen, mirror.together() as reads:
        one, other = reads(NotesOfWriter.latest, alice.pk, 2), reads(NotesOfWriter.latest, bob.pk, 2)
    assert (one.value, other.value) == (hers[:2], his)
    assert (seen.round_trips, len(seen.sql)) == (1, 0)


@ENGINES
def test_a_declaration_without_sql_below_an_id_has_no_reader(engine: str) -> None:
    with only(engine), pytest.raises(TypeError, match=r"NotesOfTopic needs find_below\(\)"):
        NotesOfTopic.latest("t", 1)
