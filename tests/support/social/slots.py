"""Which keys of a command have to lie in one slot of a Redis Cluster."""

from redis.crc import key_slot

from mirror.recorder import Command

# A cluster client can split these commands by slot (docs/decisions/key-layout-and-write-protocol.md).
IN_PARTS = {"MGET", "WATCH", "DEL", "UNLINK", "EXISTS"}


def units(command: Command) -> list[list[str]]:
    """The keys that cannot be asked for apart."""
    return [[key] for key in command.named()] if command.name in IN_PARTS else [command.named()]


def slot(key: str) -> int:
    """The slot that a key is in."""
    return key_slot(key.encode())
