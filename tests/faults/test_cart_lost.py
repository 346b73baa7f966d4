"""Carts when Redis is killed, emptied, reverted or hung: lines that reached SQL are never lost."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from redis import Redis

from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from shop.carts.reading import get_cart_backup
from shop.carts.sync import push_all_pending_carts
from shop.models import Cart
from shop.services.carts import add_copies, set_line
from tests.faults.test_older_file import Past
from tests.support.faults.crew import Crew
from tests.support.mirror.backup_world import marked
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.carts import find_differences, flush_carts, make_visitor, read_quantities, restore_backups
from tests.support.shop.make import make_product
from tests.support.timeouts import hung

pytestmark = pytest.mark.on_sqlite

LOSSES = ["killed", "emptied", "older file", "no file"]


@pytest.fixture
def books(redis_server: RedisServer, transactional_db: None) -> list[int]:
    """Create products in a trusted Redis. Return their ids."""
    made = [make_product(f"No. {number}", stock=1000).pk for number in range(4)]
    drain_all()
    restore_backups()
    return made


def lose(how: str, server: RedisServer, past: Past) -> None:
    """Let Redis lose data. It runs again afterwards."""
    if how == "emptied":
        server.flush()
    elif how == "older file":
        past.comes_back()
    else:
        server.kill()
        if how == "no file":
            for file in sorted(server.data.rglob("*"), reverse=True):
                file.unlink() if file.is_file() else file.rmdir()
        server.start()
    breaker.reset()


def is_in_the_file(state: Redis) -> bool:
    """Return whether the append-only file has everything that Redis acknowledged."""
    said = state.info("persistence")
    return said["aof_buffer_length"] == 0 and said["aof_pending_bio_fsync"] == 0


def comes_to_rest() -> None:
    """Run beat's tasks for carts once, and check that Redis and SQL agree."""
    restore_backups()
    flush_carts()
    push_all_pending_carts()
    assert find_differences() == []


@pytest.mark.parametrize("how", LOSSES)
def test_flushed_lines_survive_any_loss_of_redis(
    how: str, books: list[int], redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    one, other = make_visitor(), make_visitor()
    set_line(one, books[0], 1)
    set_line(one, books[3], 9)
    past = Past(redis_server, tmp_path)
    set_line(one, books[1], 2)
    set_line(one, books[3], 0)
    set_line(other, books[0], 3)
    flush_carts()
    lose(how, redis_server, past)
    assert read_quantities(one) == {books[0]: 1, books[1]: 2}
    assert add_copies(other, books[2]).lines == {books[0]: 3, books[2]: 1}
    comes_to_rest()
    assert read_quantities(one) == {books[0]: 1, books[1]: 2}
    assert read_quantities(other) == {books[0]: 3, books[2]: 1}


def test_unflushed_lines_survive_if_the_append_only_file_has_them(
    books: list[int], redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    """At most the file's last second is lost."""
    digest = make_visitor()
    set_line(digest, books[0], 1)
    flush_carts()
    past = Past(redis_server, tmp_path)
    set_line(digest, books[1], 2)
    wait_until(partial(is_in_the_file, state), "the append-only file")
    lose("killed", redis_server, past)
    assert read_quantities(digest) == {books[0]: 1, books[1]: 2}
    assert marked(state, get_cart_backup()) == {digest}, "SQL will be told"
    set_line(digest, books[2], 3)
    lose("older file", redis_server, past)  # as after a power failure: the file lacks the last writes
    assert read_quantities(digest) == {books[0]: 1}
    comes_to_rest()
    assert read_quantities(digest) == {books[0]: 1}


def test_changes_to_a_cart_during_a_hang_are_made_once(
    books: list[int], redis_server: RedisServer, state: Redis
) -> None:
    """Redis executes the commands from before the hang later. They neither repeat nor undo newer changes."""
    digest = make_visitor()
    add_copies(digest, books[0], 2)
    set_line(digest, books[1], 1)
    flush_carts()
    with hung(redis_server):
        # The server executes this removal after it resumes. A removal asks for no price first.
        assert set_line(digest, books[1], 0).lines == {books[0]: 2}
        assert add_copies(digest, books[0], 1).lines == {books[0]: 3}
        assert set_line(digest, books[1], 7).lines == {books[0]: 3, books[1]: 7}
        assert read_quantities(digest) == {books[0]: 3, books[1]: 7}
    breaker.reset()
    comes_to_rest()
    assert read_quantities(digest) == {books[0]: 3, books[1]: 7}
    assert Cart.objects.get().lines == {str(books[0]): 3, str(books[1]): 7}


@pytest.mark.slow
def test_worker_flushes_every_write_and_restores_all_carts(
    books: list[int],
    crew: Crew,
    redis_server: RedisServer,
    record_property: Callable[[str, object], None],
    tmp_path: Path,
) -> None:
    """The durations are only reported. The test asserts that every write arrives."""
    crew.worker()
    crew.beat()
    set_line(make_visitor(), books[0], 1)
    wait_until(Cart.objects.exists, "the worker")
    past, waits, wanted = Past(redis_server, tmp_path), list[float](), dict[str, dict[int, int]]()
    for number in range(12):
        digest = make_visitor()
        time.sleep(number % 4 * 0.13)  # spreads the writes over the second between two runs of beat
        version, start = set_line(digest, books[number % 4], number + 1).version, time.monotonic()
        wait_until(Cart.objects.filter(pk=digest, version=version).exists, "SQL")
        waits.append(time.monotonic() - start)
        wanted[digest] = {books[number % 4]: number + 1}
    seconds = f"median {statistics.median(waits):.2f}, longest {max(waits):.2f}"
    record_property("seconds until SQL had a write", seconds)
    print(f"seconds until SQL had a write: {seconds}")
    lose("no file", redis_server, past)
    assert {digest: read_quantities(digest) for digest in wanted} == wanted
    wait_until(lambda: not marked_now(redis_server) and not find_differences(), "all of it in Redis")


def marked_now(server: RedisServer) -> set[str]:
    """Return the carts that SQL does not have yet."""
    with server.client() as state:
        return marked(state, get_cart_backup())
