"""Chained mirrors: a change of one mirror orders changes of those after it once it has been applied, and only once."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import After, Watch, registry
from mirror.models import Change
from mirror.outbox import changes
from mirror.outbox.identity import database_identity
from mirror.redis.clients import relay_client
from mirror.redis.recorder import record
from mirror.relay import apply, drains, hints, send
from mirror.upkeep import rebuild
from mirror.warm import cold, marker
from mirror.windows import window
from mirror.windows.declare import WindowMirror
from tests.projects.mirrortest.models import Ignoring, Note, Odd, Reading, Writer
from tests.projects.mirrortest.windows import FeedWindow
from tests.support.killed import Killed, before, kill
from tests.support.mirror import world
from tests.support.mirror.outbox import run

pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("cluster")]
READING = registry.get("treading")
FEED = cast("FeedWindow", registry.get("tfeed"))


def edges(*pairs: tuple[int, int]) -> list[str]:
    """Create writers 1 to 5 and readings between them. Return the keys of the readings, which alone have pending
    changes.
    """
    Writer.objects.bulk_create([Writer(pk=pk, name=str(pk)) for pk in range(1, 6)])
    Change.objects.filter(mirror="tfeed").delete()
    Reading.objects.bulk_create([Reading(reader_id=reader, writer_id=writer) for reader, writer in pairs])
    return [f"{reader}:{writer}" for reader, writer in pairs]


def pending(mirror: str) -> list[str]:
    """Return the keys of this mirror's pending changes, sorted."""
    return sorted(Change.objects.pending().filter(mirror=mirror, source="").values_list("key", flat=True))


def rows() -> int:
    return Change.objects.filter(mirror="tfeed", source="").count()


@contextmanager
def without_hints() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hints, "flush", lambda: None)
        yield


def test_applied_change_orders_one_change_per_owner() -> None:
    keys = edges((1, 2), (1, 3), (4, 2))
    assert pending("tfeed") == []
    apply.drain(READING, keys)
    assert (pending("treading"), pending("tfeed")) == ([], ["1", "4"])


@pytest.mark.parametrize("step", ["watch", "read", "write", "mark"])
def test_crash_before_the_mark_orders_nothing(step: str) -> None:
    keys = edges((1, 2))
    with pytest.raises(Killed):
        apply.drain(READING, keys, step=before(step))
    assert (pending("treading"), pending("tfeed")) == (keys, [])
    apply.drain(READING, keys)
    assert (pending("treading"), pending("tfeed")) == ([], ["1"])


def test_change_is_not_marked_if_ordering_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = edges((1, 2))
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(changes, "append", kill)
        apply.drain(READING, keys)
    assert pending("treading") == keys


def test_rows_without_pending_changes_order_nothing() -> None:
    keys = edges((1, 2), (3, 4))
    drains.drain_all()
    before = rows()
    apply.drain(READING, keys, full=True)
    apply.drain(READING, keys)
    rebuild.rebuild(["treading"])
    assert rows() == before


def test_rebuild_orders_changes_only_after_rows_with_pending_changes() -> None:
    edges((1, 2), (3, 4))
    drains.drain_all()
    with without_hints():
        Reading.objects.create(reader_id=5, writer_id=2)
    before = rows()
    rebuild.rebuild(["treading"])
    assert (pending("tfeed"), rows()) == (["5"], before + 1)


def test_stray_removed_by_a_rebuild_orders_the_next_change(redis: Redis) -> None:
    edges((1, 2))
    world.warm_own()
    redis.sadd(FEED.sources("4")[0], "3")
    before = rows()
    assert rebuild.rebuild(["treading"])[0].strays == 1
    assert (pending("tfeed"), rows()) == (["4"], before + 1)


def test_rebuild_leaves_source_changes_to_be_spread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rebuild has written the rows, but has ordered no changes of the mirrors after them."""
    keys = edges((1, 2))
    drains.drain_all()
    source = Watch(Writer, via=lambda values, after, limit: keys)
    monkeypatch.setattr(type(READING), "watches", [*READING.watches, source])
    before = rows()
    Change.objects.create(mirror="treading", source=source.source, key="2")
    rebuild.rebuild(["treading"])
    drains.drain_all()
    assert rows() == before + 1


def test_drain_whose_changes_were_already_marked_orders_nothing() -> None:
    keys = edges((1, 2))

    def overtake(step: str) -> None:
        if step == "mark":
            apply.drain(READING, keys)

    apply.drain(READING, keys, step=overtake)
    assert pending("tfeed") == ["1"]


def test_replayed_changes_order_their_followers_again() -> None:
    edges((1, 2))
    drains.drain_all()
    before = rows()
    Change.objects.filter(mirror="treading").update(incarnation="another")
    assert changes.unapply_since(datetime.now(UTC) - timedelta(hours=1), "now") > 0
    drains.drain_all()
    assert (rows(), Change.objects.pending().exists()) == (before + 1, False)


def test_change_of_everything_orders_a_change_of_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key of everything names no row, so it has no owner."""
    edges((1, 2))
    world.warm_own()
    monkeypatch.setattr(FeedWindow, "after", [After("treading", lambda edge: edge.split(":")[1])])
    changes.append("treading", [changes.WHOLE])
    cold.apply_whole(READING, relay_client())
    assert pending("tfeed") == [changes.WHOLE]


@pytest.mark.only_on("postgres")
def test_truncate_empties_the_windows_after_it(redis: Redis) -> None:
    edges((1, 2))
    Note.objects.create(writer_id=2, topic="a")
    world.warm_own()
    window.warm(FEED, "1")
    run(f"TRUNCATE {Reading._meta.db_table}")
    world.rest()
    assert _ids(redis, "1") == []


def test_mirror_without_followers_pays_no_extra_statements() -> None:
    with without_hints():
        Odd.objects.create(code="a")
    database_identity()
    with record() as seen:
        assert apply.drain(registry.get("t'odd"), ["a"]) == (1, 1)
    assert len(seen.sql) == 3


def test_rebuild_of_all_mirrors_follows_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_mirrors", dict(reversed(registry._mirrors.items())))
    assert list(registry._mirrors).index("tfeed") < list(registry._mirrors).index("treading")
    done = [one.mirror for one in rebuild.rebuild(["tfeed", "tignoring", "treading"])]
    assert done[2] == "tfeed"
    assert not any(one.skipped for one in rebuild.rebuild(["tfeed", "tignoring", "treading"]))


def test_mirror_is_not_rebuilt_before_those_it_depends_on() -> None:
    world.warm_own()
    cold.make_cold("treading", relay_client())
    cold.make_cold("tfeed", relay_client())
    rebuild.rebuild_if_cold("tfeed")
    assert not _is_warm("tfeed")
    rebuild.rebuild_if_cold("treading")
    rebuild.rebuild_if_cold("tfeed")
    assert _is_warm("tfeed")


class TestInRequests:
    """Hints drain the mirrors after the hinted rows."""

    @pytest.fixture(autouse=True)
    def no_hurry(self, settings: Settings) -> None:
        settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}

    @pytest.fixture
    def notes(self) -> list[int]:
        """Create notes by writer 2 and a warm feed of reader 1, which is empty. Return the notes' ids, oldest first."""
        edges()
        found = Note.objects.bulk_create([Note(writer_id=2, topic="a") for _ in range(3)])
        world.warm_own()
        window.warm(FEED, "1")
        return [note.pk for note in found]

    @pytest.mark.usefixtures("inline_deletes")
    def test_reading_and_ignoring_a_writer_show_at_once(self, redis: Redis, notes: list[int]) -> None:
        reading = Reading.objects.create(reader_id=1, writer_id=2)
        assert _ids(redis, "1") == notes
        Ignoring.objects.create(reader_id=1, writer_id=2)
        assert _ids(redis, "1") == []
        Ignoring.objects.get().delete()
        assert _ids(redis, "1") == notes
        reading.delete()
        assert _ids(redis, "1") == []
        assert not Change.objects.pending().exists()

    def test_rows_of_a_source_are_followed(
        self, redis: Redis, notes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Reading.objects.create(reader_id=1, writer_id=2)
        before = rows()
        watch = Watch(Writer, via=lambda values, after, limit: ["1:2"])
        monkeypatch.setattr(type(READING), "watches", [*READING.watches, watch])
        Change.objects.create(mirror="treading", source=watch.source, key="2")
        hints.hint("treading", watch.source, ["2"])
        drains.drain_all()
        assert rows() == before + 1
        assert not Change.objects.pending().exists()

    def test_rows_beyond_the_budget_are_left_to_a_worker(
        self, settings: Settings, notes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[tuple[str, list[str]]] = []
        monkeypatch.setattr(send, "drain", lambda mirror, keys: sent.append((mirror, keys)))
        settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
        Reading.objects.create(reader_id=1, writer_id=2)
        assert sent == [("treading", ["1:2"])]
        assert pending("tfeed") == []

    def test_outbox_is_behind_until_the_chained_changes_are_applied(self, notes: list[int]) -> None:
        with without_hints():
            Reading.objects.create(reader_id=1, writer_id=2)
        last = changes.newest_unapplied()
        assert last is not None
        drains.drain_keys("treading", ["1:2"])
        assert changes.is_unapplied_up_to(last)
        drains.drain_all()
        assert not changes.is_unapplied_up_to(last)


def test_feed_is_made_after_the_edge_reached_redis(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a note in delivery, by a writer who has been left, would find the edge and stay."""
    edges((1, 2))
    Note.objects.create(writer_id=2, topic="a")
    world.warm_own()
    window.warm(FEED, "1")
    seen: list[bool] = []
    load = type(FEED).load

    def watched(self: WindowMirror, pks: Any) -> Any:
        if "1" in pks:
            seen.append(bool(redis.sismember(FEED.sources("1")[0], "2")))
        return load(self, pks)

    monkeypatch.setattr(type(FEED), "load", watched)
    Reading.objects.all().delete()
    drains.drain_all()
    assert seen
    assert not any(seen)
    assert _ids(redis, "1") == []


def _is_warm(name: str) -> bool:
    return marker.is_warm(relay_client(), name)


def _ids(redis: Redis, owner: str) -> list[int]:
    """Return the notes of a warm feed, oldest first."""
    found: Any = redis.zrange(FEED.record_key(owner), 0, -1)
    first, *ids = map(int, found)
    assert first == 0
    return ids
