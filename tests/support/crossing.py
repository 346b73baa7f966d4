"""Commands with keys of several slots of a cluster, which fail their test even if SQL answered instead."""

from redis.exceptions import ClusterCrossSlotError

from mirror.cluster import routing

found: list[str] = []  # messages of such errors, of this test


class _Noted(ClusterCrossSlotError):
    def __init__(self, message: str) -> None:
        super().__init__(message)
        found.append(message)


def install() -> None:
    """Note each error that the cluster client raises for such a command."""
    vars(routing)["ClusterCrossSlotError"] = _Noted
