"""Find the keys of a command that must share one slot of a Redis Cluster."""

from redis.crc import key_slot

from mirror.redis.recorder import Command

# A cluster client can split these commands by slot (docs/decisions/key-layout-and-write-protocol.md).
IN_PARTS = {"MGET", "WATCH", "DEL", "UNLINK", "EXISTS"}


def units(command: Command) -> list[list[str]]:
    """Return the groups of keys that one command must name together."""
    return [[key] for key in command.named()] if command.name in IN_PARTS else [command.named()]


def slot(key: str) -> int:
    """Return the slot of a key."""
    return key_slot(key.encode())
