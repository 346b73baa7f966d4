"""A pool of connections to a Redis Cluster whose commands the recorder does not see."""

from collections.abc import Sequence
from typing import Any, Self

from mirror.cluster.client import ClusterConnection, ClusterPool
from mirror.cluster.topology import Topology
from mirror.redis.session import Command
from tests.support.servers.process import PATIENCE_SECONDS


class UnrecordedPool(ClusterPool):
    """A pool of its own, with long time-outs."""

    @classmethod
    def of(cls, url: str) -> Self:
        """Return a pool for the cluster with this URL."""
        return cls(Topology(url, socket_timeout=PATIENCE_SECONDS))

    def get_connection(self, *args: Any, **kwargs: Any) -> Any:
        return _Unrecorded(self)


class _Unrecorded(ClusterConnection):
    def post(self, commands: Sequence[Command]) -> None:
        self.push(commands)
