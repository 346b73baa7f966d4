"""What the tests of backups share: marks as plain data, and a Redis that comes back as it was."""

from collections.abc import Iterator
from typing import Any

import pytest
from redis import Redis

from mirror import naming
from mirror.backup.declare import Backup
from mirror.backup.restore import restore
from mirror.models import BackupState
from mirror.redis import client, incarnation_of, relay_client
from tests.support.mirror.app.backups import baskets, best
from tests.support.mirror.app.models import Basket, Best


class Stop(BaseException):
    """As a kill: nobody catches it."""


class Lives:
    """Lives of a server that is never restarted: what its connections take it for."""

    def __init__(self, server: Redis) -> None:
        self.server, self.number = server, 0

    def past(self) -> dict[bytes, Any]:
        """Everything that there is now. What runs out meanwhile is not."""
        found = {name: self.server.dump(name) for name in self.server.scan_iter(count=1000)}
        return {name: dumped for name, dumped in found.items() if dumped is not None}

    def come_back(self, past: dict[bytes, Any]) -> None:
        """Redis was restarted, from an older file."""
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
    """A Redis that can be sent back in time without being restarted."""
    made = Lives(redis)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mirror.redis.incarnation_of", lambda info: f"{incarnation_of(info)}/{made.number}")
        made.come_back({})
        yield made
    made.come_back({})


def marked(server: Redis, backup: Backup) -> set[str]:
    """The items that SQL has not been told of."""
    return {item.decode() for item in server.zrange(backup.marks(), 0, -1)}


def scores() -> dict[str, int]:
    """What SQL has of ``tbest``."""
    return dict(Best.objects.values_list("player", "score"))


def scores_in(server: Redis) -> dict[str, int]:
    """What Redis has of it."""
    return {item.decode(): int(s) for item, s in server.zrange(naming.key("tbest"), 0, -1, withscores=True)}


def lines() -> dict[str, dict[str, int]]:
    """What is in each basket, by SQL."""
    return {
        item: value.lines for item, value in baskets().load(list(Basket.objects.values_list("pk", flat=True))).items()
    }


def is_warm(server: Redis, backup: Backup) -> bool:
    """Whether everything is restored."""
    found = server.get(naming.restored(backup.name)) or b""
    return found.decode().endswith("|" + BackupState.objects.get(backup=backup.name).epoch)


def warm() -> None:
    """Everything is restored."""
    for backup in (best(), baskets()):
        restore(backup)
