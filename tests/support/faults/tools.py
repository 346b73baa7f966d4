"""Shared by the tests of faults: writers, readers, threads, and checks of the mirror."""

import random
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from itertools import count

import orjson
from django.db import connection, connections
from django.db.models import F, QuerySet
from redis import Redis

from mirror import status
from mirror.models import Change
from mirror.read.reads import read
from mirror.redis.clients import relay_client
from mirror.verify import runs
from tests.projects.mirrortest.models import Follow, Item, Label
from tests.support.mirror import world
from tests.support.servers import PATIENCE_SECONDS, wait_until


def is_at_rest() -> bool:
    """Return whether no change is pending and every mirror is warm."""
    return not Change.objects.pending().exists() and all(status.warm_mirrors(relay_client()).values())


def assert_exact(redis: Redis) -> None:
    """Check that SQL and Redis are equal, by verification and by the ORM alone."""
    assert runs.verify(redis=relay_client()) == []
    assert world.dump(redis) == world.by_orm()


def assert_comes_to_rest(redis: Redis, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for rest, and check that SQL and Redis are equal."""
    wait_until(is_at_rest, "coming to rest", seconds)
    assert_exact(redis)


class Storm:
    """Writes of every kind that send no signals, hundreds of rows at a time. The seed determines their order."""

    def __init__(self, seed: int, size: int = 200) -> None:
        self.random, self.size, self.numbers = random.Random(seed), size, count()
        self.kinds = (self.create, self.update, self.raw_sql, self.link, self.rename, self.follow, self.delete)

    def strike(self) -> None:
        """Write once."""
        self.random.choice(self.kinds)()

    def blow(self) -> None:
        """Write once if the relay has kept up with earlier writes."""
        if Change.objects.pending().count() < 5 * self.size:
            self.strike()

    def name(self) -> str:
        return f"storm {next(self.numbers)}"

    def third(self, which: int) -> "QuerySet[Item]":
        """Return a third of the storm's items."""
        return Item.objects.filter(name__startswith="storm").annotate(third=F("pk") % 3).filter(third=which % 3)

    def some(self) -> "QuerySet[Item]":
        """Return a random third of the storm's items."""
        return self.third(self.random.randrange(3))

    def create(self) -> None:
        made = Item.objects.bulk_create(Item(name=self.name(), score=n) for n in range(self.size))
        labels = [Label.objects.get_or_create(name=f"storm {letter}")[0] for letter in "abc"]
        self._link(made, self.random.choice(labels))

    def _link(self, items: list[Item], label: Label) -> None:
        through = Item.labels.through
        through.objects.bulk_create((through(item=item, label=label) for item in items), ignore_conflicts=True)

    def update(self) -> None:
        self.some().update(score=self.random.randrange(99), hidden=self.random.random() < 0.2)

    def raw_sql(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE mirrortest_item SET score = score + 1 WHERE name LIKE 'storm%'")

    def link(self) -> None:
        self._link(list(self.some()[: self.size]), Label.objects.create(name=self.name()))

    def rename(self) -> None:
        label = Label.objects.filter(name__startswith="storm").order_by("pk").first()
        if label is not None:
            Label.objects.filter(pk=label.pk).update(name=self.name())

    def follow(self) -> None:
        Follow.objects.filter(follower__lt=20)._raw_delete("default")
        pairs = {(self.random.randrange(99), self.random.randrange(99)) for _ in range(self.size)}
        Follow.objects.bulk_create((Follow(follower=a, followed=b) for a, b in pairs), ignore_conflicts=True)

    def delete(self) -> None:
        gone = list(self.some().values_list("pk", flat=True)[: self.size // 2])
        Item.labels.through.objects.filter(item__in=gone)._raw_delete("default")
        Item.objects.filter(pk__in=gone)._raw_delete("default")


STILL = 300


def make_still() -> list[Item]:
    """Create rows with a label and follows that are not written again."""
    items = Item.objects.bulk_create(Item(name=f"still {n}", score=n) for n in range(STILL))
    label, through = Label.objects.create(name="still"), Item.labels.through
    through.objects.bulk_create(through(item=item, label=label) for item in items)
    Follow.objects.bulk_create(Follow(follower=1000, followed=n) for n in range(STILL))
    return items


class Watcher:
    """A reader of the still rows. Every answer from Redis must be complete and correct."""

    def __init__(self, items: list[Item]) -> None:
        self.items = items
        self.truth = [
            {item.pk: item.name for item in items},
            {str(item.pk) for item in items},
            {str(n) for n in range(STILL)},
        ]
        self.by_redis = self.by_sql = 0

    def look(self) -> None:
        """Read once, and compare."""
        found = read(["titem", "tfollow"], self._ask)
        if found is None:
            self.by_sql += 1
            return
        records, label, follows = found.replies
        names = {item.pk: raw and orjson.loads(raw)["name"] for item, raw in zip(self.items, records, strict=True)}
        sets = [{member.decode() for member in members} for members in (label, follows)]
        assert [names, *sets] == self.truth
        self.by_redis += 1

    def _ask(self, pipe: Redis) -> None:
        pipe.mget([f"titem:{item.pk}" for item in self.items])
        pipe.smembers("{tlabel}:still")
        pipe.smembers("tuid:{1000}:following")

    def sees_sql(self) -> None:
        """Wait until SQL answers a read."""
        before = self.by_sql
        wait_until(lambda: self.by_sql > before, "a read by SQL")

    def sees_redis(self) -> None:
        """Wait until Redis answers a read."""
        before = self.by_redis
        wait_until(lambda: self.by_redis > before, "a read by Redis")


@contextmanager
def at_once(*jobs: Callable[[], None]) -> Generator[None, None, None]:
    """Run each job in its own thread beside the block. Wait for all jobs at its end, and raise an error of any job."""
    errors = list[BaseException]()

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            errors.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(PATIENCE_SECONDS)
    if errors:
        raise errors[0]
    assert not any(thread.is_alive() for thread in threads), "a job does not end"


@contextmanager
def again_and_again(*jobs: Callable[[], None]) -> Generator[None, None, None]:
    """Repeat each job in its own thread until the block ends. Raise an error of any job."""
    stop = threading.Event()

    def repeat(job: Callable[[], None]) -> None:
        while not stop.is_set():
            job()

    with at_once(*(partial(repeat, job) for job in jobs)):
        try:
            yield
        finally:
            stop.set()
