"""Which keys of a command have to lie in one slot of a Redis Cluster."""

from redis.crc import key_slot

from mirror.recorder import Command

# What a cluster is asked in parts, one for each slot (docs/decisions.md): nothing is lost when they are.
IN_PARTS = {"MGET", "MSET", "WATCH", "DEL", "UNLINK", "EXISTS"}
DELIVERY = 3  # keys of a window that rows are delivered to; a call of the script names several windows


def units(command: Command) -> list[list[str]]:
    """The keys that cannot be asked for apart."""
    if command.name == "EVALSHA":
        count = int(command.args[1])
        keys = [_text(key) for key in command.args[2 : 2 + count]]
        size = DELIVERY if any(key.endswith(":timeline") for key in keys) else count
        return [keys[at : at + size] for at in range(0, count, size)]
    return [[key] for key in command.named()] if command.name in IN_PARTS else [command.named()]


def slot(key: str) -> int:
    """The slot that a key is in."""
    return key_slot(key.encode())


def _text(key: object) -> str:
    return key.decode() if isinstance(key, bytes) else str(key)
