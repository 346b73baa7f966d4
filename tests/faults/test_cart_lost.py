"""Carts when Redis is killed, emptied, reverted or hung: no line is ever lost, because SQL has it first."""

from pathlib import Path

import pytest
from redis import Redis

from mirror.redis.clients import breaker
from mirror.relay.drains import drain_all
from mirror.upkeep.sweeper import sweep
from shop.models import Cart
from shop.services.carts import add_copies, set_line
from tests.faults.test_older_file import Past
from tests.support.faults.crew import Crew
from tests.support.servers import RedisServer, wait_until
from tests.support.shop.carts import find_differences, make_visitor, read_quantities
from tests.support.shop.make import make_product
from tests.support.timeouts import hung
from tests.support.warm_mirrors import rebuild

LOSSES = ["killed", "emptied", "older file", "no file"]


@pytest.fixture
def books(redis_server: RedisServer, transactional_db: None) -> list[int]:
    """Create products in a warm Redis. Return their ids."""
    made = [make_product(f"No. {number}", stock=1000).pk for number in range(4)]
    rebuild()
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


@pytest.mark.parametrize("how", LOSSES)
def test_lines_survive_any_loss_of_redis(
    how: str, books: list[int], redis_server: RedisServer, state: Redis, tmp_path: Path
) -> None:
    one, other = make_visitor(), make_visitor()
    set_line(one, books[0], 1)
    set_line(one, books[3], 9)
    past = Past(redis_server, tmp_path)
    set_line(one, books[1], 2)
    set_line(one, books[3], 0)
    set_line(other, books[0], 3)
    lose(how, redis_server, past)
    assert read_quantities(one) == {books[0]: 1, books[1]: 2}
    assert add_copies(other, books[2]).lines == {books[0]: 3, books[2]: 1}
    sweep()
    rebuild()
    assert find_differences() == []
    assert read_quantities(one) == {books[0]: 1, books[1]: 2}
    assert read_quantities(other) == {books[0]: 3, books[2]: 1}


def test_changes_to_a_cart_during_a_hang_are_made_once(
    books: list[int], redis_server: RedisServer, state: Redis
) -> None:
    """Redis executes the commands from before the hang later. They neither repeat nor undo newer changes."""
    digest = make_visitor()
    add_copies(digest, books[0], 2)
    set_line(digest, books[1], 1)
    with hung(redis_server):
        assert set_line(digest, books[1], 0).lines == {books[0]: 2}
        assert add_copies(digest, books[0], 1).lines == {books[0]: 3}
        assert set_line(digest, books[1], 7).lines == {books[0]: 3, books[1]: 7}
        assert read_quantities(digest) == {books[0]: 3, books[1]: 7}
    breaker.reset()
    drain_all()
    assert find_differences() == []
    assert read_quantities(digest) == {books[0]: 3, books[1]: 7}
    assert {pk: line.quantity for pk, line in Cart.objects.get().content.items()} == {books[0]: 3, books[1]: 7}


@pytest.mark.slow
def test_workers_rebuild_all_carts_of_an_emptied_redis(
    books: list[int], crew: Crew, redis_server: RedisServer, tmp_path: Path
) -> None:
    wanted = {make_visitor(): {books[number % 4]: number + 1} for number in range(12)}
    for digest, lines in wanted.items():
        for pk, quantity in lines.items():
            set_line(digest, pk, quantity)
    crew.worker()
    crew.beat()
    lose("no file", redis_server, Past(redis_server, tmp_path))
    assert {digest: read_quantities(digest) for digest in wanted} == wanted
    wait_until(lambda: not find_differences(), "all of it in Redis")
