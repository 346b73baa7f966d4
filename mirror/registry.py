"""The mirrors there are. ``register`` adds one; everything generic asks here."""

from collections.abc import Iterable
from typing import TypeVar

from mirror.declare import Mirror

_mirrors: dict[str, Mirror] = {}
M = TypeVar("M", bound=type[Mirror])


class UnknownMirror(LookupError):
    """There is no mirror of that name."""


def register(declaration: M) -> M:
    """Class decorator: take a mirror in. Raises ValueError when its name is taken."""
    if declaration.name in _mirrors:
        raise ValueError(f"two mirrors are called {declaration.name!r}")
    _mirrors[declaration.name] = declaration()
    return declaration


def unregister(name: str) -> None:
    """Take a mirror out again (for tests)."""
    _mirrors.pop(name, None)


def get(name: str) -> Mirror:
    """The mirror called ``name``. Raises UnknownMirror, which names those there are."""
    try:
        return _mirrors[name]
    except KeyError:
        known = ", ".join(sorted(_mirrors)) or "none"
        raise UnknownMirror(f"there is no mirror called {name!r} (there are: {known})") from None


def all_mirrors(names: Iterable[str] = ()) -> list[Mirror]:
    """The mirrors called ``names``, or all of them, in the order they were registered."""
    return [get(name) for name in names] or list(_mirrors.values())
