"""A Redis that can revert to an older state."""

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from mirror.redis.clients import client, relay_client
from mirror.redis.pool import incarnation_of


class Lives:
    """Simulated incarnations of one server that is never restarted."""

    def __init__(self, server: Redis) -> None:
        self.server, self.number = server, 0

    def past(self) -> dict[bytes, Any]:
        """Return a copy of the server's data, without keys that expire meanwhile."""
        found = {name: self.server.dump(name) for name in self.server.scan_iter(count=1000)}
        return {name: dumped for name, dumped in found.items() if dumped is not None}

    def come_back(self, past: dict[bytes, Any]) -> None:
        """Replace the server's data with the copy, and act as if the server had been restarted."""
        self.server.flushall()
        for name, dumped in past.items():
            self.server.restore(name, 0, dumped)
        self.number += 1
        for each in (client(), relay_client()):
            pool: Any = each.connection_pool
            pool.disconnect()
            pool.incarnation, pool.asked_at = "", 0.0


@pytest.fixture
def lives(redis: Redis) -> Iterator[Lives]:
    """Return a Redis that can be reverted without a restart."""
    made = Lives(redis)
    with pytest.MonkeyPatch.context() as patch:
        for module in ("mirror.redis.pool", "mirror.cluster.client"):
            patch.setattr(f"{module}.incarnation_of", lambda info: f"{incarnation_of(info)}/{made.number}")
        made.come_back({})
        yield made
    made.come_back({})
