"""The backups there are. ``register`` adds one; everything generic asks here."""

from collections.abc import Iterable
from typing import TypeVar

from mirror.backup.declare import Backup

_backups: dict[str, Backup] = {}
B = TypeVar("B", bound=type[Backup])


class UnknownBackup(LookupError):
    """There is no backup of that name."""


def register(declaration: B) -> B:
    """Class decorator: take a backup in."""
    _backups[declaration.name] = declaration()
    return declaration


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
