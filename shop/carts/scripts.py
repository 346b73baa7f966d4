"""The atomic scripts that change carts in Redis (``lua/cart_*.lua``), and the decoding of their state."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mirror import naming
from mirror.backup import guarded
from mirror.scripts import Script
from shop import keys
from shop.carts.content import PARKED, Change, Content, Limits, Line, next_version

_LUA: Final = Path(__file__).parents[1] / "lua"
_LINES: Final = (_LUA / "cart_lines.lua").read_text(encoding="utf-8")
STEP: Final = 500  # carts per round trip
BACKUP: Final = "cart"  # the name of the backup of carts
WORDS: Final = frozenset({"version", "copies", "floor", "moved"})  # fields of the state that are not lines
MOVED_SECONDS: Final = 86_400  # how long Redis remembers the new digest of a moved cart

change = Script(_LUA / "cart_change.lua", head=guarded(_LUA / "cart_lines.lua").text)
put_back = Script(_LUA / "cart_put_back.lua", head=_LINES)
forget = Script(_LUA / "cart_forget.lua")


def both(digest: str) -> list[str]:
    """Return the two keys of a cart: its quantities and its state."""
    return [keys.cart(digest), keys.cart_state(digest)]


def changing(digest: str, mode: str, changes: Iterable[Change], limits: Limits, key: str, version: int) -> list[Any]:
    """Return the arguments of the script ``change``."""
    return [digest, mode, key, version, next_version(0), *limits, *(part for line in changes for part in line)]


def telling(digest: str, content: Content) -> tuple[Script, list[str], list[Any]]:
    """Return the script, keys and arguments that bring SQL's version of a cart to Redis.

    The script replies 0 if the update has to wait.
    """
    if content.moved == PARKED:
        return forget, [*both(digest), naming.marks(BACKUP)], [digest, content.version]
    flat = [part for name, line in content.lines.items() for part in (name, *line)]
    return put_back, both(digest), [content.floor, content.moved, MOVED_SECONDS, *flat]


def tell(redis: Any, contents: Mapping[str, Content]) -> list[str]:
    """Send carts to Redis. Return the digests of those that Redis has taken. Raises redis-py's errors."""
    told: list[str] = []
    for script in (put_back, forget):
        script.load(redis)
    found = list(contents.items())
    for start in range(0, len(found), STEP):
        part = found[start : start + STEP]
        pipe = redis.pipeline(transaction=False)
        for digest, content in part:
            script, names, arguments = telling(digest, content)
            script.add(pipe, names, arguments)
        told += [digest for (digest, _), done in zip(part, pipe.execute(), strict=True) if done != 0]
    return told


def drop(redis: Any, digests: Sequence[str]) -> None:
    """Delete carts and their marks from Redis, whatever their content."""
    for start in range(0, len(digests), STEP):
        pipe = redis.pipeline(transaction=False)
        for digest in digests[start : start + STEP]:
            pipe.delete(*both(digest))
            pipe.zrem(naming.marks(BACKUP), digest)
        pipe.execute()


def content_of(said: Mapping[bytes, bytes] | Sequence[bytes]) -> Content:
    """Return the content that a cart's state describes. ``said`` is a reply of HGETALL, or its flat form from
    a script.
    """
    pairs = said.items() if isinstance(said, Mapping) else zip(said[::2], said[1::2], strict=True)
    state = {name.decode(): value.decode() for name, value in pairs}
    words = {word: state.pop(word, "") for word in WORDS}
    lines = {name: Line(*map(int, value.split())) for name, value in state.items()}
    return Content(lines, int(words["floor"] or 0), words["moved"])
