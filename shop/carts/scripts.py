"""The atomic scripts that change carts in Redis (``lua/cart_*.lua``), and the decoding of their state."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mirror.backup import guarded, registry
from mirror.redis import RedisClient, Script
from shop import keys
from shop.carts.content import PARKED, CartContent, CartLimits, ContentLine, LineChange, next_version

_LUA: Final = Path(__file__).parents[1] / "lua"
_LINES_SOURCE: Final = (_LUA / "cart_lines.lua").read_text(encoding="utf-8")
CARTS_PER_BATCH: Final = 500  # carts per round trip
BACKUP: Final = "cart"  # the name of the backup of carts
STATE_FIELDS: Final = frozenset({"version", "copies", "floor", "moved"})  # fields of the state that are not lines
MOVED_SECONDS: Final = 86_400  # how long Redis remembers the new digest of a moved cart

change_script = Script(_LUA / "cart_change.lua", head=guarded(_LUA / "cart_lines.lua").text)
put_back_script = Script(_LUA / "cart_put_back.lua", head=_LINES_SOURCE)
forget_script = Script(_LUA / "cart_forget.lua")


def get_cart_keys(digest: str) -> list[str]:
    """Return the two keys of a cart: its quantities and its state."""
    return [keys.cart(digest), keys.cart_state(digest)]


def make_change_arguments(
    digest: str, mode: str, changes: Iterable[LineChange], limits: CartLimits, key: str, version: int
) -> list[Any]:
    """Return the arguments of the script ``change``."""
    return [digest, mode, key, version, next_version(0), *limits, *(part for line in changes for part in line)]


def make_push_command(digest: str, content: CartContent) -> tuple[Script, list[str], list[Any]]:
    """Return the script, keys and arguments that bring SQL's version of a cart to Redis.

    The script replies 0 if the update has to wait.
    """
    if content.moved_to == PARKED:
        return forget_script, [*get_cart_keys(digest), registry.get(BACKUP).marks_of(digest)], [digest, content.version]
    flat = [part for name, line in content.lines.items() for part in (name, *line)]
    return put_back_script, get_cart_keys(digest), [content.pruned_until, content.moved_to, MOVED_SECONDS, *flat]


def push_carts(redis: RedisClient, contents: Mapping[str, CartContent]) -> list[str]:
    """Send carts to Redis. Return the digests of those that Redis has taken. Raises redis-py's errors."""
    told: list[str] = []
    for script in (put_back_script, forget_script):
        script.load(redis)
    found = list(contents.items())
    for start in range(0, len(found), CARTS_PER_BATCH):
        part = found[start : start + CARTS_PER_BATCH]
        pipe = redis.pipeline(transaction=False)
        for digest, content in part:
            script, names, arguments = make_push_command(digest, content)
            script.add(pipe, names, arguments)
        told += [digest for (digest, _), done in zip(part, pipe.execute(), strict=True) if done != 0]
    return told


def drop_carts(redis: RedisClient, digests: Sequence[str]) -> None:
    """Delete carts and their marks from Redis, whatever their content."""
    for start in range(0, len(digests), CARTS_PER_BATCH):
        pipe = redis.pipeline(transaction=False)
        for digest in digests[start : start + CARTS_PER_BATCH]:
            pipe.delete(*get_cart_keys(digest))
            pipe.zrem(registry.get(BACKUP).marks_of(digest), digest)
        pipe.execute()


def decode_content(said: Mapping[bytes, bytes] | Sequence[bytes]) -> CartContent:
    """Return the content that a cart's state describes. ``said`` is a reply of HGETALL, or its flat form from
    a script.
    """
    pairs = said.items() if isinstance(said, Mapping) else zip(said[::2], said[1::2], strict=True)
    state = {name.decode(): value.decode() for name, value in pairs}
    words = {word: state.pop(word, "") for word in STATE_FIELDS}
    lines = {name: ContentLine(*map(int, value.split())) for name, value in state.items()}
    return CartContent(lines, int(words["floor"] or 0), words["moved"])
