"""The registered backups."""

from collections.abc import Iterable
from typing import TypeVar

from django.utils.translation import gettext as translated

from mirror.backup.declare import Backup

__all__ = ["all_backups", "get"]
_backups: dict[str, Backup] = {}
_refused: list[tuple[type[Backup], str]] = []
B = TypeVar("B", bound=type[Backup])


class UnknownBackup(LookupError):
    """No backup has this name."""


def register(declaration: B) -> B:
    """Register a backup declaration (a class decorator). The system checks report one that is unusable."""
    fault = _fault(declaration)
    if fault:
        _refused.append((declaration, fault))
    else:
        _backups[declaration.name] = declaration()
    return declaration


def _fault(declaration: type[Backup]) -> str:
    """Return the reason why a declaration is unusable, or ""."""
    name = getattr(declaration, "name", None)
    if not isinstance(name, str) or not name:
        return "has no name"
    if name in _backups:
        return f"is called {name!r}, and so is {type(_backups[name]).__qualname__}"
    return ""


def refused() -> list[tuple[type[Backup], str]]:
    """Return the declarations that could not be registered, with the reasons."""
    return list(_refused)


def describe(name: str) -> str:
    """Return the label of the backup called ``name`` for staff. An unknown name is kept."""
    label = _backups[name].label if name in _backups else ""
    return str(label) or translated(name.replace("_", " "))


def unregister(name: str) -> None:
    """Remove a backup (for tests)."""
    _backups.pop(name, None)


def get(name: str) -> Backup:
    """Return the backup called ``name``. Raises a LookupError that lists the known names."""
    try:
        return _backups[name]
    except KeyError:
        known = ", ".join(sorted(_backups)) or "none"
        raise UnknownBackup(f"there is no backup called {name!r} (there are: {known})") from None


def all_backups(names: Iterable[str] = ()) -> list[Backup]:
    """Return the backups called ``names``, or all of them, in the order of registration."""
    return [get(name) for name in names] or list(_backups.values())
