"""A local copy of a mirror answers only while it is current."""

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.db.backends.signals import connection_created
from redis import Redis
from redis.client import Pipeline

from mirror import registry
from mirror.comparison.plan import encode_feed, place
from mirror.declare.entries import Contribution, Entry, Field, Scored, Value, single
from mirror.outbox.identity import database_identity
from mirror.read import local
from mirror.read.local import LocalCopy
from mirror.read.reads import read
from mirror.redis import naming
from mirror.redis.clients import breaker, relay_client
from mirror.redis.recorder import record
from mirror.redis.session import get_pool
from mirror.relay import apply
from mirror.relay.drains import drain_all
from mirror.relay.sql_only import sql_only
from mirror.upkeep.rebuild import rebuild
from tests.projects.mirrortest.mirrors import ItemMirror
from tests.projects.mirrortest.models import Item, Label
from tests.support.fixtures import FOLLOW_IDLE_SECONDS
from tests.support.servers import PATIENCE_SECONDS, RedisServer, wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("own_registry"),
    pytest.mark.also_on("cluster"),
]


class FedItems(ItemMirror):
    """The mirror of items with a feed."""

    def feed(self) -> str:
        return "titems:changes"


class Plain:
    """The simplest structure: a dictionary from place to entry."""

    def __init__(self, entries: Iterable[Contribution]) -> None:
        self.held: dict[tuple[str, ...], Entry] = {}
        for entry in single(entries):
            self.add(entry)

    def add(self, entry: Entry) -> None:
        self.held[place(entry)] = entry

    def remove(self, entry: Entry) -> None:
        if not isinstance(entry, Field | Value) or self.held.get(place(entry)) == entry:
            self.held.pop(place(entry), None)


class Counting(LocalCopy[Plain]):
    """A local copy that counts its loads."""

    def __init__(self) -> None:
        self.loads = 0
        super().__init__("titem", lambda: "titems:score", self._make)

    def _make(self, entries: Iterable[Contribution]) -> Plain:
        self.loads += 1
        self.made = Plain(entries)
        return self.made

    def now(self) -> set[Entry] | None:
        """Return the entries in the copy, or None if it is not current."""
        answer = self.ask(lambda structure: set(structure.held.values()), lambda pipe, answer: None)
        return None if answer is None else answer[0]


@pytest.fixture
def mirrored() -> FedItems:
    """Register a mirror with a feed, and create three items in it."""
    declared = FedItems()
    registry._mirrors["titem"] = declared
    for n in range(3):
        Item.objects.create(name=f"item {n}", score=n)
    rebuild(["titem"])
    return declared


@pytest.fixture
def copy(mirrored: FedItems) -> Iterator[Counting]:
    """Return a copy that is not loaded yet. Join its thread afterwards."""
    made = Counting()
    yield made
    if made._worker is not None:
        made._worker.join(PATIENCE_SECONDS)


@pytest.fixture
def loaded(copy: Counting) -> Counting:
    assert copy.ensure_loaded()
    assert copy.loads == 1
    return copy


def _truth(mirrored: ItemMirror) -> set[Entry]:
    rows = mirrored.load([str(pk) for pk in Item.objects.values_list("pk", flat=True)])
    return {entry for pk, row in rows.items() for entry in single(mirrored.index(pk, mirrored.record(row)))}


def test_copy_holds_every_entry(mirrored: FedItems, loaded: Counting) -> None:
    assert len(loaded.now() or ()) == 6
    assert loaded.now() == _truth(mirrored)


def test_current_copy_answers_in_one_round_trip(loaded: Counting) -> None:
    with record() as seen:
        assert loaded.now() is not None
    assert (seen.round_trips, len(seen.sql)) == (1, 0)


def test_unloaded_copy_leaves_the_answer_to_sql_at_once(copy: Counting) -> None:
    with record() as seen:
        assert copy.now() is None
    assert seen.round_trips == 0
    wait_until(lambda: copy.now() is not None, "the copy")


def test_feed_is_applied_with_a_second_round_trip(mirrored: FedItems, loaded: Counting) -> None:
    item = Item.objects.get(name="item 1")
    item.labels.add(Label.objects.create(name="new"))
    Item.objects.filter(pk=item.pk).update(score=77)
    deleted = Item.objects.get(name="item 2")
    Item.objects.filter(pk=deleted.pk).delete()
    apply.drain(mirrored, [str(item.pk), str(deleted.pk)])
    with record() as seen:
        assert loaded.now() == _truth(mirrored)
    assert seen.round_trips == 2
    with record() as seen:
        assert loaded.now() == _truth(mirrored)
    assert seen.round_trips == 1
    assert loaded.loads == 1


def test_replies_belong_to_the_answer_that_requested_them(mirrored: FedItems, loaded: Counting) -> None:
    added = Item.objects.create(name="added", score=9)

    def newest(structure: Plain) -> str:
        return max((str(entry[1]) for entry in structure.held.values() if entry[0] == "titems:score"), key=int)

    answer = loaded.ask(newest, lambda pipe, pk: pipe.get(mirrored.record_key(pk)))
    assert answer is not None
    assert answer[0] == str(added.pk)
    assert b'"added"' in answer[1][0]


class Held:
    """A builder that reads all entries and then blocks until the test releases it."""

    def __init__(self) -> None:
        self.has_read, self.may_go = threading.Event(), threading.Event()

    def __call__(self, entries: Iterable[Contribution]) -> Plain:
        structure = Plain(entries)
        self.has_read.set()
        assert self.may_go.wait(PATIENCE_SECONDS)
        return structure


@pytest.fixture
def held(copy: Counting) -> Iterator[Held]:
    """Start to load the copy, and block it after it has read all entries."""
    build = Held()
    copy._build = build
    assert copy.now() is None
    assert build.has_read.wait(PATIENCE_SECONDS)
    yield build
    build.may_go.set()


def test_changes_during_a_load_are_in_the_copy(mirrored: FedItems, copy: Counting, held: Held) -> None:
    Item.objects.get(name="item 0").delete()
    Item.objects.filter(name="item 1").update(score=50)
    Item.objects.create(name="item 3").labels.add(Label.objects.create(name="late"))
    drain_all()
    held.may_go.set()
    assert copy.ensure_loaded()
    assert copy.now() == _truth(mirrored)


def test_requests_do_not_wait_for_a_load_and_start_no_second_one(copy: Counting, held: Held) -> None:
    worker = copy._worker
    assert [copy.now() for _ in range(5)] == [None] * 5
    assert copy._worker is worker


def test_rebuild_during_a_load_discards_it(mirrored: FedItems, copy: Counting, held: Held) -> None:
    rebuild(["titem"])
    held.may_go.set()
    assert copy._worker is not None
    copy._worker.join(PATIENCE_SECONDS)
    assert copy._held is None
    assert copy.ensure_loaded()
    assert copy.now() == _truth(mirrored)


def test_copy_is_loaded_again_after_a_rebuild(mirrored: FedItems, loaded: Counting) -> None:
    rebuild(["titem"])
    assert loaded.now() is None
    assert loaded.ensure_loaded()
    assert loaded.loads == 2
    assert loaded.now() == _truth(mirrored)


def test_copy_of_a_cold_mirror_is_neither_used_nor_loaded(loaded: Counting, redis: Redis) -> None:
    redis.delete(naming.marker("titem"))
    assert loaded.now() is None
    other = Counting()
    assert not other.ensure_loaded()
    assert other.loads == 0


def test_thread_that_asks_sql_about_a_foreign_marker_leaves_no_connection_open(loaded: Counting, redis: Redis) -> None:
    name = naming.marker("titem")
    redis.set(name, (redis.get(name) or b"").replace(database_identity().encode(), b"another"))
    opened: list[Any] = []

    def note(sender: object, connection: Any, **kwargs: object) -> None:
        opened.append(connection)

    connection_created.connect(note)
    other = Counting()
    try:
        get_pool(relay_client()).asked_at = 0.0
        assert not other.ensure_loaded()
    finally:
        connection_created.disconnect(note)
    assert [one.connection for one in opened] == [None]


def test_redis_emptied_between_marker_and_data_is_noticed(mirrored: FedItems, loaded: Counting) -> None:
    answer = loaded.ask(
        lambda structure: None, lambda pipe, answer: (pipe.flushdb(), pipe.get(mirrored.record_key("1")))
    )
    assert answer is None
    rebuild(["titem"])

    def ask(pipe: Pipeline) -> None:
        pipe.flushdb()
        pipe.get(mirrored.record_key("1"))

    assert read(["titem"], ask) is None


def test_failed_load_is_not_retried_at_once(loaded: Counting, redis: Redis) -> None:
    redis.delete(naming.marker("titem"))
    other = Counting()
    assert not other.ensure_loaded()
    worker = other._worker
    assert other.now() is None
    assert other._worker is worker


def test_copy_is_loaded_again_if_the_feed_was_trimmed_past_its_position(
    mirrored: FedItems, loaded: Counting, redis: Redis
) -> None:
    Item.objects.filter(name="item 1").update(score=50)
    Item.objects.filter(name="item 2").update(score=60)
    drain_all()
    redis.xtrim(mirrored.feed(), maxlen=1, approximate=False)
    assert loaded.now() is None
    assert loaded.ensure_loaded()
    assert loaded.loads == 2
    assert loaded.now() == _truth(mirrored)


def test_copy_far_behind_leaves_the_answer_to_sql_and_catches_up_without_a_new_load(
    mirrored: FedItems, loaded: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "MAX_ENTRIES", 5)
    for n in range(30):
        Item.objects.create(name=f"more {n}")
    assert loaded.now() is None
    assert loaded.ensure_loaded()
    assert loaded.loads == 1
    assert loaded.now() == _truth(mirrored)


def test_copy_in_use_applies_entries_that_no_question_waits_for(
    mirrored: FedItems, loaded: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "FOLLOW_SECONDS", 0.01)
    monkeypatch.setattr(local, "FOLLOW_IDLE_SECONDS", FOLLOW_IDLE_SECONDS)
    assert loaded.now() is not None
    for n in range(30):
        Item.objects.create(name=f"more {n}")
    drain_all()
    wait_until(lambda: set(loaded.made.held.values()) == _truth(mirrored), "the entries")
    monkeypatch.setattr(local, "FOLLOW_IDLE_SECONDS", 0.0)
    wait_until(lambda: not any(t.name.startswith("follower") for t in threading.enumerate()), "the end of the thread")
    assert loaded.loads == 1


def test_copy_in_use_is_followed_after_sql_was_away(
    mirrored: FedItems, loaded: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "FOLLOW_SECONDS", 0.01)
    monkeypatch.setattr(local, "FOLLOW_IDLE_SECONDS", FOLLOW_IDLE_SECONDS)
    is_back = threading.Event()
    refused = threading.Event()

    def read_identity() -> str:
        if is_back.is_set():
            return database_identity()
        refused.set()
        raise OperationalError("SQL is away")

    monkeypatch.setattr(local, "database_identity", read_identity)
    assert loaded.now() is not None
    assert refused.wait(PATIENCE_SECONDS)
    is_back.set()
    Item.objects.create(name="more")
    drain_all()
    wait_until(lambda: set(loaded.made.held.values()) == _truth(mirrored), "the entries")
    monkeypatch.setattr(local, "FOLLOW_IDLE_SECONDS", 0.0)
    wait_until(lambda: not any(t.name.startswith("follower") for t in threading.enumerate()), "the end of the thread")


def test_copy_takes_two_round_trips_under_constant_writes(mirrored: FedItems, loaded: Counting) -> None:
    Item.objects.filter(name="item 1").update(score=50)
    drain_all()
    before, writes = _truth(mirrored), iter(range(100, 200))

    def write(pipe: Pipeline, answer: object) -> None:
        with record() as own:
            Item.objects.filter(name="item 2").update(score=next(writes))
            drain_all()
        others.append(own.round_trips)

    others: list[int] = []
    with record() as seen:
        answer = loaded.ask(lambda structure: set(structure.held.values()), write)
    assert seen.round_trips - sum(others) == 2
    assert answer is not None
    assert answer[0] >= {entry for entry in before if entry[1] != str(Item.objects.get(name="item 2").pk)}


def test_changes_within_a_round_trip_are_applied(mirrored: FedItems, loaded: Counting) -> None:
    """The feed is read after all other data, so no data can be newer than the answer."""
    came = Scored("titems:score", "999", 1.0)

    def meanwhile(pipe: Pipeline, answer: object) -> None:
        pipe.xadd(mirrored.feed(), {"d": encode_feed([], [came])})

    answer = loaded.ask(lambda structure: came in structure.held.values(), meanwhile)
    assert answer is not None
    assert answer[0] is True


def test_failing_structure_is_discarded_and_sql_answers(mirrored: FedItems, loaded: Counting) -> None:
    def fail(structure: Plain) -> None:
        raise KeyError("a bug")

    assert loaded.ask(fail, lambda pipe, answer: None) is None
    assert loaded.ensure_loaded()
    assert loaded.loads == 2


def test_copy_is_not_used_by_requests_that_must_see_their_own_write(loaded: Counting) -> None:
    with record() as seen, sql_only():
        assert loaded.now() is None
    assert seen.round_trips == 0


def test_copy_is_not_used_while_the_breaker_is_open(loaded: Counting) -> None:
    breaker.failed()
    with record() as seen:
        assert loaded.now() is None
    assert seen.round_trips == 0


def test_outdated_feed_entries_are_not_applied_again(mirrored: FedItems, loaded: Counting, redis: Redis) -> None:
    """Two readers get the same feed entries. The slower one applies them after the faster one applied newer ones."""
    Item.objects.filter(name="item 1").update(score=50)
    drain_all()
    late: Any = redis.xrange(mirrored.feed())
    Item.objects.filter(name="item 1").update(score=60)
    drain_all()
    assert loaded.now() == _truth(mirrored)
    held = loaded._held
    assert held is not None
    loaded._apply_later(held, late)
    assert set(held.structure.held.values()) == _truth(mirrored)


def test_answer_is_never_older_than_the_request(mirrored: FedItems, loaded: Counting) -> None:
    """Readers in threads must see at least the value that was written before they asked."""
    place_of_score = ("titems:score", str(Item.objects.get(name="item 0").pk))
    written, is_over, answers = [0.0], threading.Event(), list[tuple[float, float]]()

    def ask() -> None:
        while not is_over.is_set():
            floor = written[0]
            answer = loaded.ask(lambda structure: structure.held[place_of_score][-1], lambda pipe, answer: None)
            if answer is not None:
                answers.append((floor, float(answer[0])))

    readers = [threading.Thread(target=ask) for _ in range(4)]
    for reader in readers:
        reader.start()
    try:
        for n in range(1, 61):
            Item.objects.filter(pk=place_of_score[1]).update(score=n)
            drain_all()
            written[0] = n
        wait_until(lambda: bool(answers) and answers[-1][1] == 60, "the last score")
    finally:
        is_over.set()
        for reader in readers:
            reader.join(PATIENCE_SECONDS)
    assert all(floor <= answer for floor, answer in answers)
    assert loaded.now() == _truth(mirrored)


def test_redis_killed_during_a_load_is_no_error(
    redis_server: RedisServer, mirrored: FedItems, copy: Counting, held: Held
) -> None:
    redis_server.kill()
    held.may_go.set()
    assert copy._worker is not None
    copy._worker.join(PATIENCE_SECONDS)
    assert copy.now() is None
    redis_server.start()
    breaker.reset()
    rebuild(["titem"])
    assert copy.ensure_loaded()
    assert copy.now() == _truth(mirrored)


def test_copy_is_not_used_after_redis_was_restored_from_an_older_file(
    redis_server: RedisServer, mirrored: FedItems, copy: Counting, tmp_path: Path
) -> None:
    assert copy.ensure_loaded()
    redis_server.copy_aof(tmp_path / "old")
    Item.objects.filter(name="item 1").update(score=50)
    drain_all()
    assert copy.now() == _truth(mirrored)
    redis_server.restore_aof(tmp_path / "old")
    redis_server.start()
    assert copy.now() is None
    rebuild(["titem"])
    assert copy.ensure_loaded()
    assert copy.now() == _truth(mirrored)
