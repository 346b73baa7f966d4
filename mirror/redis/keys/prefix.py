"""The prefix of every key on the state server. Connections add it, so code names keys without it.

``current`` is the setting, followed by a namespace in a process that uses a test database
(``mirror.redis.keys.namespace``). While it is empty, clients, pools and connections are those of django-redis.

A function that adds the prefix to each key would have to be called by every declaration, reader and script of a
project; one that forgets it shares its keys with another site. Here a command costs 2 us more, and one whose key
positions are unknown is refused: it would silently lack the prefix. ``COMMAND GETKEYS`` would cost a round trip.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, Final

from django.core.signals import setting_changed
from django.db import connections
from django.dispatch import receiver

from mirror.conf import setting
from mirror.redis.keys import namespace
from mirror.redis.keys.positions import key_positions, name_of
from mirror.redis.types import RedisClient
from mirror.redis.wire import pack_command, serializer

_NAMES_IN_REPLY: Final = {"KEYS": 1, "SCAN": None}  # position of the pattern; None: after MATCH, if any


def current() -> str:
    """Return the present prefix: "" unless configured, or in a process that uses a test database."""
    return _of_database(connections.settings[_get_alias()]["NAME"])


@cache
def _get_alias() -> str:
    return str(setting("DATABASE"))


@cache
def _of_database(name: Any) -> str:
    if namespace.enter(str(name)):
        # A process that has used a test database never returns to the site's keys.
        _of_database.cache_clear()
    return str(setting("PREFIX")) + namespace.current()


@receiver(setting_changed)
def _forget(*, setting: str, **kwargs: object) -> None:
    if setting == "MIRROR":
        # Tests change the settings.
        _get_alias.cache_clear()
        _of_database.cache_clear()


class Packer:
    """Writes commands for the wire with a prefix before each key. Raises UnknownCommand."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.prefix_bytes = prefix.encode()
        self.pattern = namespace.escape_pattern(prefix)  # escaped for use in a glob pattern

    def pack(self, *args: Any) -> Any:
        """Write one command, as redis-py's connections request it."""
        # redis-py gives some names as two words: "CONFIG GET".
        command = list(args[0].split()) if isinstance(args[0], str | bytes) else [args[0]]
        command += args[1:]
        return serializer.pack(*self.rename(command))

    def pack_command(self, command: Sequence[Any]) -> bytes:
        """Write one command with a name of one word."""
        return pack_command(tuple(self.rename(command)))

    def rename(self, command: Sequence[Any]) -> list[Any]:
        """Return the command with the prefix before its keys and its pattern of keys."""
        renamed = list(command)
        positions = key_positions(command)
        for position in positions:
            renamed[position] = self.key(renamed[position])
        if positions:
            return renamed
        name = name_of(command)
        if name in _NAMES_IN_REPLY:
            self._narrow_pattern(renamed, _NAMES_IN_REPLY[name])
        return renamed

    def key(self, name: Any) -> str | bytes:
        """Return a key's name on the server."""
        return self.prefix_bytes + name if isinstance(name, bytes) else f"{self.prefix}{name}"

    def names(self, found: Iterable[bytes]) -> list[bytes]:
        """Return names from the server without the prefix."""
        return [name.removeprefix(self.prefix_bytes) for name in found]

    def _narrow_pattern(self, command: list[Any], place: int | None) -> None:
        """Limit the command's pattern to keys with the prefix."""
        if place is None:
            words = [_to_text(word).upper() for word in command]
            if "MATCH" not in words:
                command += ["MATCH", "*"]
                words += ["MATCH", "*"]
            place = words.index("MATCH") + 1
        command[place] = self.pattern + _to_text(command[place])


def strip_replies(redis: RedisClient, packer: Packer) -> RedisClient:
    """Make a client that uses this packer remove the prefix from names in replies."""
    for command in _NAMES_IN_REPLY:
        redis.set_response_callback(command, _make_stripper(packer, redis.response_callbacks.get(command)))
    return redis


def _make_stripper(packer: Packer, parse: Any) -> Any:
    def strip(reply: Any, **options: Any) -> Any:
        parsed = parse(reply, **options) if parse else reply
        if isinstance(parsed, tuple):  # a step of SCAN
            cursor, names = parsed
            return cursor, packer.names(names)
        return packer.names(parsed)

    return strip


def _to_text(word: Any) -> str:
    return word.decode() if isinstance(word, bytes) else str(word)
