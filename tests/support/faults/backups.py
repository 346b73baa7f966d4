"""Shared by the tests of backups under faults: writers that remember acknowledged values, and checks against them."""

import random
from collections.abc import Callable

from redis import Redis
from redis.exceptions import RedisError

from mirror.backup.access import NotRestored, fetch
from mirror.backup.status import statuses
from mirror.backup.verify import verify
from mirror.redis.clients import breaker, relay_client
from tests.support.mirror.app.backups import baskets, best, play, put
from tests.support.mirror.backup_world import lines, scores
from tests.support.servers import wait_until


class Shoppers:
    """Writers of scores and baskets. They repeat each write until it is acknowledged, and remember it."""

    def __init__(self, seed: int, server: Redis, size: int = 200) -> None:
        self.random, self.server, self.size = random.Random(seed), server, size
        self.best: dict[str, int] = {}
        self.baskets: dict[str, dict[str, int]] = {}
        self.writes = self.failures = 0

    def write(self) -> None:
        """Write one score and one basket line."""
        player, score = f"p{self.random.randrange(self.size)}", self.random.randrange(600)
        self._until_done(lambda: play(self.server, player, score))
        self.best[player] = max(score, self.best.get(player, 0))
        basket, line, quantity = f"b{self.random.randrange(self.size)}", self.random.choice("xyz"), self._quantity()
        self._until_done(lambda: put(basket, line, quantity, relay_client()))
        content = {**self.baskets.get(basket, {}), line: quantity}
        self.baskets[basket] = {line: n for line, n in content.items() if n}
        self.writes += 1

    def _quantity(self) -> int:
        return self.random.randrange(5)

    def _until_done(self, do: Callable[[], object]) -> None:
        while True:
            try:
                do()
            except (RedisError, NotRestored):
                self.failures += 1
            else:
                return

    def look(self) -> None:
        """Check that readers see every acknowledged value."""
        breaker.reset()
        assert fetch(best(), list(self.best)) == self.best
        found = fetch(baskets(), list(self.baskets))
        assert {name: content.lines for name, content in found.items()} == self.baskets


def is_at_rest() -> bool:
    """Return whether no item is marked and everything is restored."""
    found = statuses([best(), baskets()], redis=relay_client())
    return all(each.warm and each.marked == 0 and each.set_aside == 0 for each in found)


def assert_comes_to_rest(shoppers: Shoppers) -> None:
    """Wait for rest, and check that SQL and Redis have all acknowledged values."""
    wait_until(is_at_rest, "coming to rest")
    assert scores() == shoppers.best
    assert lines() == shoppers.baskets
    assert verify(best()) == verify(baskets()) == []
    shoppers.look()
