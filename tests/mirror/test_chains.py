"""What comes after a change of another mirror is ordered when that change is in Redis: no sooner, and not in vain."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from redis import Redis

from mirror import After, Watch, apply, cold, hints, marker, outbox, rebuild, registry, relay, send, window
from mirror.declare import WindowMirror
from mirror.models import Change
from mirror.recorder import record
from mirror.redis import relay_client
from tests.support.mirror import world
from tests.support.mirror.app.models import Ignoring, Note, Odd, Reading, Writer
from tests.support.mirror.app.windows import FeedWindow
from tests.support.mirror.outbox import run

pytestmark = pytest.mark.usefixtures("committed")
READING = registry.get("treading")
FEED = cast("FeedWindow", registry.get("tfeed"))


def edges(*pairs: tuple[int, int]) -> list[str]:
    """Writers 1 to 5, and who reads whom among them, whose changes alone are pending. Returns the edges' keys."""
    Writer.objects.bulk_create([Writer(pk=pk, name=str(pk)) for pk in range(1, 6)])
    Change.objects.filter(mirror="tfeed").delete()
    Reading.objects.bulk_create([Reading(reader_id=reader, writer_id=writer) for reader, writer in pairs])
    return [f"{reader}:{writer}" for reader, writer in pairs]


def pending(mirror: str) -> list[str]:
    """The keys of this mirror's pending changes, sorted."""
    return sorted(Change.objects.pending().filter(mirror=mirror, source="").values_list("key", flat=True))


def rows() -> int:
    return Change.objects.filter(mirror="tfeed", source="").count()


class Crash(BaseException):
    """A process dies."""


def crash_before(step: str) -> Any:
    def crash(at: str) -> None:
        if at == step:
            raise Crash

    return crash


@contextmanager
def without_hints() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hints, "flush", lambda: None)
        yield


def test_a_change_that_is_applied_orders_one_of_each_owner_that_comes_after_it() -> None:
    keys = edges((1, 2), (1, 3), (4, 2))
    assert pending("tfeed") == []
    apply.drain(READING, keys)
    assert (pending("treading"), pending("tfeed")) == ([], ["1", "4"])


@pytest.mark.parametrize("step", ["watch", "read", "write", "mark"])
def test_before_the_mark_nothing_is_ordered_and_a_crash_leaves_all_of_it_to_be_done(step: str) -> None:
    keys = edges((1, 2))
    with pytest.raises(Crash):
        apply.drain(READING, keys, step=crash_before(step))
    assert (pending("treading"), pending("tfeed")) == (keys, [])
    apply.drain(READING, keys)
    assert (pending("treading"), pending("tfeed")) == ([], ["1"])


def test_what_cannot_be_ordered_is_not_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise Crash

    keys = edges((1, 2))
    with monkeypatch.context() as patch, pytest.raises(Crash):
        patch.setattr(outbox, "append", fail)
        apply.drain(READING, keys)
    assert pending("treading") == keys


def test_rows_without_a_pending_change_order_nothing() -> None:
    keys = edges((1, 2), (3, 4))
    relay.drain_all()
    before = rows()
    apply.drain(READING, keys, full=True)
    apply.drain(READING, keys)
    rebuild.rebuild(["treading"])
    assert rows() == before


def test_of_all_the_rows_of_a_rebuild_those_with_a_pending_change_order_what_comes_after_them() -> None:
    edges((1, 2), (3, 4))
    relay.drain_all()
    with without_hints():
        Reading.objects.create(reader_id=5, writer_id=2)
    before = rows()
    rebuild.rebuild(["treading"])
    assert (pending("tfeed"), rows()) == (["5"], before + 1)


def test_a_row_that_a_rebuild_repairs_orders_what_comes_after_it(redis: Redis) -> None:
    edges((1, 2))
    world.warm_own()
    redis.sadd(FEED.sources("4")[0], "3")
    before = rows()
    assert rebuild.rebuild(["treading"])[0].strays == 1
    assert (pending("tfeed"), rows()) == (["4"], before + 1)


def test_changes_of_a_source_that_a_rebuild_finds_are_spread_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rebuild has written the rows, but nobody has been told of what comes after them."""
    keys = edges((1, 2))
    relay.drain_all()
    source = Watch(Writer, via=lambda values, after, limit: keys)
    monkeypatch.setattr(type(READING), "watches", [*READING.watches, source])
    before = rows()
    Change.objects.create(mirror="treading", source=source.source, key="2")
    rebuild.rebuild(["treading"])
    relay.drain_all()
    assert rows() == before + 1


def test_a_drain_whose_changes_another_one_has_marked_orders_nothing_again() -> None:
    keys = edges((1, 2))

    def overtake(step: str) -> None:
        if step == "mark":
            apply.drain(READING, keys)

    apply.drain(READING, keys, step=overtake)
    assert pending("tfeed") == ["1"]


def test_what_is_replayed_orders_what_comes_after_it_again() -> None:
    edges((1, 2))
    relay.drain_all()
    before = rows()
    Change.objects.filter(mirror="treading").update(incarnation="another")
    assert outbox.unapply_since(datetime.now(UTC) - timedelta(hours=1), "now") > 0
    relay.drain_all()
    assert (rows(), Change.objects.pending().exists()) == (before + 1, False)


def test_where_everything_is_made_anew_so_is_what_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """ "Everything" is no row: it has no owner."""
    edges((1, 2))
    world.warm_own()
    monkeypatch.setattr(FeedWindow, "after", [After("treading", lambda edge: edge.split(":")[1])])
    outbox.append("treading", [outbox.WHOLE])
    cold.obey(READING, relay_client())
    assert pending("tfeed") == [outbox.WHOLE]


@pytest.mark.on_postgres
def test_after_truncate_all_of_it_comes_to_rest(redis: Redis) -> None:
    edges((1, 2))
    Note.objects.create(writer_id=2, topic="a")
    world.warm_own()
    window.warm(FEED, "1")
    run(f"TRUNCATE {Reading._meta.db_table}")
    world.rest()
    assert _ids(redis, "1") == []


def test_a_mirror_that_nothing_comes_after_pays_nothing_for_those_that_have_something() -> None:
    with without_hints():
        Odd.objects.create(code="a")
    with record() as seen:
        assert apply.drain(registry.get("t'odd"), ["a"]) == (1, 1)
    assert len(seen.sql) == 3


def test_other_mirrors_come_in_their_order_when_all_are_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_mirrors", dict(reversed(registry._mirrors.items())))
    assert list(registry._mirrors).index("tfeed") < list(registry._mirrors).index("treading")
    done = [one.mirror for one in rebuild.rebuild(["tfeed", "tignoring", "treading"])]
    assert done[2] == "tfeed"
    assert not any(one.skipped for one in rebuild.rebuild(["tfeed", "tignoring", "treading"]))


def test_a_mirror_is_not_rebuilt_before_those_that_it_comes_after() -> None:
    world.warm_own()
    cold.make_cold("treading", relay_client())
    cold.make_cold("tfeed", relay_client())
    rebuild.rebuild_if_cold("tfeed")
    assert not _is_warm("tfeed")
    rebuild.rebuild_if_cold("treading")
    rebuild.rebuild_if_cold("tfeed")
    assert _is_warm("tfeed")


class TestInRequests:
    """Hints drain what comes after the rows that they name."""

    @pytest.fixture(autouse=True)
    def no_hurry(self, settings: Any) -> None:
        settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 3600.0}

    @pytest.fixture
    def notes(self) -> list[int]:
        """Notes by writer 2, oldest first; everything is warm, and nobody reads anybody."""
        edges()
        found = Note.objects.bulk_create([Note(writer_id=2, topic="a") for _ in range(3)])
        world.warm_own()
        window.warm(FEED, "1")
        return [note.pk for note in found]

    def test_whom_somebody_reads_and_leaves_is_seen_at_once(self, redis: Redis, notes: list[int]) -> None:
        reading = Reading.objects.create(reader_id=1, writer_id=2)
        assert _ids(redis, "1") == notes
        Ignoring.objects.create(reader_id=1, writer_id=2)
        assert _ids(redis, "1") == []
        Ignoring.objects.get().delete()
        assert _ids(redis, "1") == notes
        reading.delete()
        assert _ids(redis, "1") == []
        assert not Change.objects.pending().exists()

    def test_what_a_source_touches_is_followed_too(
        self, redis: Redis, notes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        Reading.objects.create(reader_id=1, writer_id=2)
        before = rows()
        watch = Watch(Writer, via=lambda values, after, limit: ["1:2"])
        monkeypatch.setattr(type(READING), "watches", [*READING.watches, watch])
        Change.objects.create(mirror="treading", source=watch.source, key="2")
        hints.hint("treading", watch.source, ["2"])
        assert rows() == before + 1
        assert not Change.objects.pending().exists()

    def test_what_does_not_fit_is_left_and_so_is_what_comes_after_it(
        self, settings: Any, notes: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent: list[tuple[str, list[str]]] = []
        monkeypatch.setattr(send, "drain", lambda mirror, keys: sent.append((mirror, keys)))
        settings.MIRROR = {**settings.MIRROR, "BUDGET_SECONDS": 0.0}
        Reading.objects.create(reader_id=1, writer_id=2)
        assert sent == [("treading", ["1:2"])]
        assert pending("tfeed") == []

    def test_whoever_wrote_is_behind_until_what_came_of_it_has_arrived(self, notes: list[int]) -> None:
        with without_hints():
            Reading.objects.create(reader_id=1, writer_id=2)
        last = outbox.newest_unapplied()
        assert last is not None
        relay.drain_keys("treading", ["1:2"])
        assert outbox.is_unapplied_up_to(last)
        relay.drain_all()
        assert not outbox.is_unapplied_up_to(last)


def test_a_feed_is_made_after_the_edge_is_in_redis(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a note on its way by somebody who was left would find the edge, and stay."""
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
    relay.drain_all()
    assert seen
    assert not any(seen)
    assert _ids(redis, "1") == []


def _is_warm(name: str) -> bool:
    return marker.is_warm(relay_client(), name)


def _ids(redis: Redis, owner: str) -> list[int]:
    """What a warm feed holds, oldest first."""
    found: Any = redis.zrange(FEED.key(owner), 0, -1)
    first, *ids = map(int, found)
    assert first == 0
    return ids
