"""The consumer of visits writes each entry once, whatever is killed, and stops for no single one."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import IntegrityError, OperationalError, connections, transaction
from pytest_django.fixtures import Settings
from redis import Redis

from mirror import tasks
from mirror.metrics import counted, measure
from mirror.outbox import changes
from mirror.redis import naming
from mirror.redis.clients import client
from mirror.redis.lease import lease
from mirror.redis.recorder import record
from mirror.relay import send
from mirror.upkeep import sweeper
from mirror.visits import Visit, VisitKind, consume, register, restore, statuses
from mirror.visits.consumer import CONSUMER, GROUP, parse_number
from mirror.visits.declare import unregister
from mirror.visits.sweep import sweep
from tests.projects.mirrortest.models import Visited
from tests.projects.mirrortest.visits import PAGES, PageVisits, look, pages
from tests.support.killed import Killed, before
from tests.support.mirror.lives import Lives, lives
from tests.support.servers import RedisServer

__all__ = ["lives"]
pytestmark = [pytest.mark.usefixtures("committed"), pytest.mark.also_on("sqlite", "cluster")]
STEPS = ("read", "save", "remove")


def stream() -> str:
    return pages.keys[0]


@pytest.fixture
def dropped() -> Iterator[Counter[str]]:
    """Count dropped visits by reason."""
    seen = Counter[str]()

    def add(*, name: str, value: int, labels: Mapping[str, str], **kwargs: object) -> None:
        if name == "visits_dropped":
            seen[labels["reason"]] += value

    counted.connect(add)
    yield seen
    counted.disconnect(add)


def written() -> list[str]:
    return sorted(Visited.objects.values_list("page", flat=True))


def die(at: str) -> None:
    """Kill the consumer before its step ``at``."""

    with pytest.raises(Killed):
        consume(pages, step=before(at))


def count_pending(redis: Redis) -> int:
    return int(redis.xpending(stream(), GROUP)["pending"])


def test_visits_are_written_once_and_removed(redis: Redis) -> None:
    for page in "abca":
        look(redis, page)
    assert consume(pages) == 4
    assert written() == ["a", "a", "b", "c"]
    assert (redis.xlen(stream()), count_pending(redis)) == (0, 0)
    assert consume(pages) == 0
    look(redis, "d")
    assert consume(pages) == 1
    assert written() == ["a", "a", "b", "c", "d"]


@pytest.mark.parametrize("step", STEPS)
def test_a_consumer_killed_before_any_step_loses_and_doubles_nothing(redis: Redis, step: str) -> None:
    look(redis, "a")
    die(step)
    assert written() == (["a"] if step == "remove" else [])
    assert redis.xlen(stream()) == 1
    look(redis, "b")
    assert consume(pages) == 2
    assert written() == ["a", "b"]
    assert (redis.xlen(stream()), count_pending(redis)) == (0, 0)


def test_many_batches_are_written_in_one_run(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 7}
    for number in range(40):
        look(redis, f"page {number:02}")
    die("remove")
    assert len(written()) == 7
    assert consume(pages) == 40
    assert written() == [f"page {number:02}" for number in range(40)]


def test_a_run_stops_at_its_deadline(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}
    for number in range(6):
        look(redis, str(number))
    assert consume(pages, 0) == 2
    assert (consume(pages), len(written())) == (4, 6)


def test_concurrent_consumers_write_each_visit_once(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 10}

    def run(_: int) -> int:
        try:
            return consume(pages)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(run, number) for number in range(4)]
        for number in range(200):
            look(redis, f"{number:03}")
        for each in runs:
            each.result()
    consume(pages)
    assert written() == [f"{number:03}" for number in range(200)]
    assert (redis.xlen(stream()), count_pending(redis)) == (0, 0)


def test_a_run_includes_what_another_process_is_writing(redis: Redis) -> None:
    """A rebuild relies on this: after its run, SQL has all visits that came before."""
    look(redis, "a")
    consume(pages)
    look(redis, "b")
    redis.xreadgroup(GROUP, CONSUMER, {stream(): ">"})  # by a process that pauses
    assert consume(pages) == 1
    assert written() == ["a", "b"]


def test_an_emptied_redis_gets_a_new_group(redis: Redis) -> None:
    look(redis, "a")
    consume(pages)
    redis.flushall()
    assert consume(pages) == 0
    look(redis, "b")
    assert consume(pages) == 1
    assert written() == ["a", "b"]


def test_malformed_visits_are_counted_and_removed(redis: Redis, dropped: Counter[str]) -> None:
    look(redis, "a")
    for fields in ({"page": "b"}, {"page": "c", "at": "soon"}, {b"\xff": b"\xfe"}):
        redis.xadd(stream(), fields)  # type: ignore[arg-type]
    redis.xadd(stream(), {"page": "d", "at": 1}, id=f"9{10**15}-{1 << 20}")
    assert consume(pages) == 5
    assert (written(), dropped) == (["a"], {"malformed": 4})
    assert (redis.xlen(stream()), count_pending(redis)) == (0, 0)


def test_visits_that_sql_refuses_stop_no_other(redis: Redis, dropped: Counter[str]) -> None:
    for page in ("a", "refused", "b", "c", "refused"):
        look(redis, page)
    assert consume(pages) == 5
    assert (written(), dropped) == (["a", "b", "c"], {"refused": 2})
    assert redis.xlen(stream()) == 0


def test_a_visit_whose_row_was_deleted_before_the_commit_is_tried_again(
    redis: Redis, dropped: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    save, calls = PageVisits.save, list[str]()

    def refuse_once(self: PageVisits, visits: Sequence[Visit]) -> None:
        save(self, visits)
        calls.append(visits[0].fact.page)
        if len(calls) == 1:
            raise IntegrityError("a row was deleted")

    monkeypatch.setattr(PageVisits, "save", refuse_once)
    look(redis, "a")
    assert consume(pages) == 1
    assert (written(), calls, dropped) == (["a"], ["a", "a"], {})


def test_visits_wait_while_sql_is_away(redis: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    look(redis, "a")
    with monkeypatch.context() as patch:
        patch.setattr(PageVisits, "save", lambda *args: (_ for _ in ()).throw(OperationalError("away")))
        with pytest.raises(OperationalError):
            consume(pages)
        assert sweep() == 0
    assert redis.xlen(stream()) == 1
    assert (sweep(), written()) == (1, ["a"])


def test_a_transaction_around_the_consumer_is_refused(redis: Redis) -> None:
    look(redis, "a")
    with transaction.atomic(), pytest.raises(changes.InTransaction):
        consume(pages)
    assert (consume(pages), written()) == (1, ["a"])


def test_a_full_stream_drops_the_oldest_and_counts_them(
    redis: Redis, settings: Settings, dropped: Counter[str]
) -> None:
    settings.MIRROR = {**settings.MIRROR, "VISITS_LENGTH": 100}
    for number in range(1000):
        look(redis, f"{number:03}")
    left = redis.xlen(stream())
    assert 100 <= left < 1000  # Redis trims whole nodes of the stream
    assert sweep() == left
    assert written() == [f"{number:03}" for number in range(1000 - left, 1000)]
    assert dropped == {"full": 1000 - left}
    assert not redis.exists(naming.trimmed_visits(PAGES))


def test_entries_that_were_dropped_after_their_reading_are_acknowledged(redis: Redis) -> None:
    for page in "ab":
        look(redis, page)
    die("save")
    redis.xtrim(stream(), maxlen=1, approximate=False)
    consume(pages)
    assert (written(), redis.xlen(stream()), count_pending(redis)) == (["b"], 0, 0)


def test_numbers_have_the_order_of_ids_and_fit_into_sql() -> None:
    ids = [b"0-1", b"5-0", b"5-1", b"6-0", b"1795000000123-7", b"1795000000124-0", b"8796093022207-1048575"]
    numbers = [parse_number(entry_id) for entry_id in ids]
    assert numbers == sorted(set(numbers))
    assert numbers[-1] < 2**63
    with pytest.raises(ValueError, match="too great"):
        parse_number(b"8796093022208-0")


def test_more_than_a_million_entries_behind_the_last_id_have_different_numbers() -> None:
    """The server's clock was corrected by hours, so only the sequence of ids rises."""
    sequences = [0, 2**20 - 1, 2**20, 2**20 + 1, 5 * 2**20]
    numbers = [parse_number(b"1795000000123-%d" % sequence) for sequence in sequences]
    assert numbers == sorted(set(numbers))


def test_entries_of_an_older_file_are_not_written_again(lives: Lives, redis: Redis) -> None:
    look(redis, "a")
    die("remove")
    past = lives.past()
    look(redis, "b")
    consume(pages)
    lives.come_back(past)
    look(redis, "c")
    consume(pages)
    assert written() == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_visits_kills_and_reversals(seed: int, lives: Lives, redis: Redis, settings: Settings) -> None:
    """No visit is doubled. Only visits since the file of a reversal may be lost."""
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 3}
    chance, number, may_be_lost = random.Random(seed), 0, set[str]()
    seen, past, in_past = list[str](), lives.past(), 0
    for _ in range(60):
        match chance.choice(["look", "look", "look", "consume", "die", "save", "revert"]):
            case "look":
                number += 1
                seen.append(f"{number:03}")
                look(redis, seen[-1])
            case "consume":
                consume(pages)
            case "die" if redis.xlen(stream()):
                die(chance.choice(STEPS))
            case "save":
                past, in_past = lives.past(), len(seen)
            case "revert" if chance.random() < 0.3:
                may_be_lost |= set(seen[in_past:])
                lives.come_back(past)
    consume(pages)
    found = written()
    assert len(found) == len(set(found))
    assert set(seen) - may_be_lost <= set(found) <= set(seen)
    assert (redis.xlen(stream()), count_pending(redis)) == (0, 0)


def test_the_sweep_writes_visits_and_restores_lost_data(redis: Redis) -> None:
    Visited.objects.create(number=1, page="old", at=5.5)
    look(redis, "new")
    assert tasks.consume_visits() == 1
    assert written() == ["new", "old"]
    assert redis.zscore(PAGES, "old") == 5.5
    assert redis.zscore(PAGES, "new") > 5.5  # type: ignore[operator]


def test_an_idle_sweep_sends_no_sql(redis: Redis) -> None:
    sweep()
    with record() as seen:
        assert sweep() == 0
    assert seen.sql == []
    assert {command.name for command in seen.commands} == {"EXISTS", "GET", "XLEN"}


def test_a_kind_leased_by_another_process_is_skipped(redis: Redis) -> None:
    look(redis, "a")
    with lease(client(), "visits:tpage", 3600):
        assert sweep() == 0
    assert written() == []


def test_a_failing_kind_delays_no_other(redis: Redis, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(PageVisits):
        name = beside = "tbroken"

        def restore(self, redis: Redis, after: str) -> str | None:
            raise ZeroDivisionError

    register(Broken())
    unregister("tpage")
    register(pages)  # after the broken one
    look(redis, "a")
    try:
        assert sweep() == 1
    finally:
        unregister("tbroken")
    assert written() == ["a"]
    assert "Could not write visits of tbroken" in caplog.text


def test_redis_away_is_logged_once_and_ends_the_sweep(
    redis_server: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    redis_server.kill()
    assert (sweep(), sweep()) == (0, 0)
    assert caplog.text.count("visits wait") == 1


@pytest.mark.parametrize("how", ["emptied", "older"])
def test_a_loss_during_a_restore_makes_it_start_over(
    how: str, lives: Lives, redis: Redis, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}
    Visited.objects.bulk_create(Visited(number=n, page=f"{n:02}", at=n + 1) for n in range(10))
    past, calls = lives.past(), list[str]()
    original = PageVisits.restore

    def restore_and_lose(self: PageVisits, server: Redis, after: str) -> str | None:
        calls.append(after)
        following = original(self, server, after)
        if len(calls) == 3:
            redis.flushall() if how == "emptied" else lives.come_back(past)
        return following

    monkeypatch.setattr(PageVisits, "restore", restore_and_lose)
    assert restore(pages)
    assert calls[3] == ""
    assert redis.zcard(PAGES) == 10
    assert restore(pages)
    assert len(calls) == 9


def test_a_restore_continues_where_it_stopped(redis: Redis, settings: Settings) -> None:
    settings.MIRROR = {**settings.MIRROR, "CHUNK": 2}
    Visited.objects.bulk_create(Visited(number=n, page=f"{n:02}", at=n + 1) for n in range(5))
    assert not restore(pages, 0)
    assert redis.zcard(PAGES) == 2
    Visited.objects.filter(page__lt="02").delete()
    assert restore(pages)
    assert redis.zcard(PAGES) == 5


def test_status_and_metrics_show_what_waits(redis: Redis, redis_server: RedisServer) -> None:
    with redis_server.client() as state:
        restore(pages)
        look(state, "a")
        state.xadd(stream(), {"page": "b", "at": 1})
        status = next(status for status in statuses() if status.kind == "tpage")
        assert (status.waiting, status.restored) == (2, True)
        assert 0 <= status.oldest_seconds < 60  # type: ignore[operator]
        assert not status.is_late(60)
        gauges = {gauge.name: gauge.value for gauge in measure() if gauge.labels.get("kind") == "tpage"}
        assert gauges["mirror_visits_waiting"] == 2
        assert gauges["mirror_visits_lag_seconds"] < 60
    redis_server.kill()
    status = next(status for status in statuses() if status.kind == "tpage")
    assert (status.waiting, status.oldest_seconds, status.restored) == (None, None, None)
    assert not [gauge for gauge in measure() if gauge.labels.get("kind") == "tpage"]


def test_a_name_can_be_registered_once() -> None:
    with pytest.raises(ValueError, match="two kinds of visits called 'tpage'"):
        register(PageVisits())
    assert isinstance(pages, VisitKind)


def test_the_relays_sweep_requests_the_consumption_of_waiting_visits(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    sweep()  # it also restores
    sent: list[str] = []

    def hint(name: str, **options: object) -> bool:
        sent.append(name)
        return True

    monkeypatch.setattr(send, "_send_hint", hint)
    sweeper.run_sweep(client())
    assert "consume_visits" not in sent
    look(redis, "a")
    sweeper.run_sweep(client())
    assert sent.count("consume_visits") == 1
    monkeypatch.setattr(send, "is_waiting", lambda name, *arguments, **options: name == "mirror.tasks.consume_visits")
    sweeper.run_sweep(client())
    assert sent.count("consume_visits") == 1
