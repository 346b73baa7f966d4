"""The backups there are. ``register`` adds one; everything generic asks here."""

from collections.abc import Iterable
from typing import TypeVar

from mirror.backup.declare import Backup

_backups: dict[str, Backup] = {}
_refused: list[tuple[type[Backup], str]] = []
B = TypeVar("B", bound=type[Backup])


class UnknownBackup(LookupError):
    """There is no backup of that name."""


def register(declaration: B) -> B:
    """Class decorator: take a backup in. One that nothing can be done with is left to the system checks."""
    fault = _fault(declaration)
    if fault:
        _refused.append((declaration, fault))
    else:
        _backups[declaration.name] = declaration()
    return declaration


def _fault(declaration: type[Backup]) -> str:
    """What makes a declaration unusable, or ""."""
    name = getattr(declaration, "name", None)
    if not isinstance(name, str) or not name:
        return "has no name"
    if name in _backups:
        return f"is called {name!r}, and so is {type(_backups[name]).__qualname__}"
    return ""


def refused() -> list[tuple[type[Backup], str]]:
    """Declarations that could not be taken in, and why."""
    return list(_refused)


def unregister(name: str) -> None:
    """Take a backup out again (for tests)."""
    _backups.pop(name, None)


def get(name: str) -> Backup:
    """The backup called ``name``. Raises UnknownBackup, which names those there are."""
    try:
        return _backups[name]
    except KeyError:
        known = ", ".join(sorted(_backups)) or "none"
        raise UnknownBackup(f"there is no backup called {name!r} (there are: {known})") from None


def all_backups(names: Iterable[str] = ()) -> list[Backup]:
    """The backups called ``names``, or all of them, in the order they were registered."""
    return [get(name) for name in names] or list(_backups.values())
