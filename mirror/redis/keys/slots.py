"""Slots of a Redis Cluster, and short hash tags for them."""

from binascii import crc_hqx
from functools import cache
from itertools import count
from typing import Final

from redis.crc import key_slot

from mirror.redis.keys import prefix

SLOTS: Final = 16384
DIVIDED: Final = {"MGET", "DEL", "UNLINK", "EXISTS", "TOUCH"}  # the client divides these commands by slot


def slot_of(key: str | bytes) -> int:
    """Return the slot of a key, given with its prefix."""
    return int(key_slot(key.encode() if isinstance(key, str) else key))


@cache
def tags() -> tuple[str, ...]:
    """Return a short text for each slot that is in it."""
    found: dict[int, str] = {}
    for number in count():
        text = f"{number:x}"
        found.setdefault(crc_hqx(text.encode(), 0) % SLOTS, text)
        if len(found) == SLOTS:
            break
    return tuple(found[slot] for slot in range(SLOTS))


def find_slot(key: str) -> int:
    """Return the slot of a key, given without its prefix."""
    return slot_of(prefix.current() + key)


def place_in_slot(slot: int | str, name: str) -> str:
    """Return a key of the mirror's own in a slot. slot: its number, or a text that is in it."""
    return f"mirror:{{{tags()[slot] if isinstance(slot, int) else slot}}}:{name}"
