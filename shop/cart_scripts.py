"""What is done to carts in Redis, each in one step (``lua/cart_*.lua``), and how their state is read."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mirror.backup import guarded
from mirror.scripts import Script
from shop import keys
from shop.cart_content import Change, Content, Limits, Line

_LUA: Final = Path(__file__).parent / "lua"
_LINES: Final = (_LUA / "cart_lines.lua").read_text(encoding="utf-8")
WORDS: Final = frozenset({"version", "copies", "floor", "moved"})  # what the state says beside the lines
NONE_SECONDS: Final = 3600  # for which it is remembered that a session has no cart
MOVED_SECONDS: Final = 86_400  # and under which digest one goes on

change = Script(_LUA / "cart_change.lua", head=guarded(_LUA / "cart_lines.lua").text)
put_back = Script(_LUA / "cart_put_back.lua", head=_LINES)
forget = Script(_LUA / "cart_forget.lua")


def both(digest: str) -> list[str]:
    """The keys of a cart: what is in it, and its state."""
    return [keys.cart(digest), keys.cart_state(digest)]


def changing(digest: str, mode: str, changes: Iterable[Change], limits: Limits, key: str, version: int) -> list[Any]:
    """The arguments of ``change``."""
    return [digest, mode, key, version, *limits, *(part for line in changes for part in line)]


def putting_back(content: Content, life: int = 0) -> list[Any]:
    """The arguments of ``put_back``. life: in seconds, of what is not there yet; 0: for good."""
    flat = [part for name, line in content.lines.items() for part in (name, *line)]
    return [content.floor, content.moved, life, *flat]


def content_of(said: Mapping[bytes, bytes] | Sequence[bytes]) -> Content:
    """The cart whose state this is (as HGETALL gives it, or flat as a script does)."""
    pairs = said.items() if isinstance(said, Mapping) else zip(said[::2], said[1::2], strict=True)
    state = {name.decode(): value.decode() for name, value in pairs}
    words = {word: state.pop(word, "") for word in WORDS}
    lines = {name: Line(*map(int, value.split())) for name, value in state.items()}
    return Content(lines, int(words["floor"] or 0), words["moved"])
