"""What the client for Redis Cluster adds to the core: clients and pools for URLs of a cluster."""

from typing import Any

from mirror.cluster.client import ClusterClient, ClusterPool
from mirror.cluster.topology import Topology
from mirror.redis.pool import register_cluster


def make_pool(params: dict[str, Any]) -> ClusterPool:
    """Return a pool for the cluster that these parameters of a connection name."""
    return ClusterPool(Topology(**params))


def register() -> None:
    """Let ``mirror.redis.PoolFactory`` make clients and pools of a cluster."""
    register_cluster(ClusterClient, make_pool)
