"""System checks of backup declarations."""

from collections.abc import Iterator
from typing import Any, Final

from django.core.checks import CheckMessage, Error, register

from mirror.backup import registry
from mirror.backup.declare import Backup

LONGEST_NAME: Final = 64
NEEDED: Final = ("save", "load", "put_back", "items_after", "scan")


@register()
def check_backups(**kwargs: Any) -> list[CheckMessage]:
    """Check everything about backups that needs no database."""
    found: list[CheckMessage] = [
        Error(
            f"{declaration.__module__}.{declaration.__qualname__} {fault}.",
            hint="A backup needs a unique name.",
            id="mirror.E013",
        )
        for declaration, fault in registry.refused()
    ]
    for backup in registry.all_backups():
        found += _check(backup)
    return found


def _check(backup: Backup) -> Iterator[CheckMessage]:
    kind = type(backup)
    if len(backup.name) > LONGEST_NAME:
        hint = f"A backup's name has at most {LONGEST_NAME} characters."
        yield Error(f"The name {backup.name!r} is too long.", hint=hint, obj=kind, id="mirror.E014")
    lacking = [name for name in NEEDED if getattr(kind, name) is getattr(Backup, name)]
    if kind.read is Backup.read:
        lacking += [name for name in ("ask", "said") if getattr(kind, name) is getattr(Backup, name)]
    if lacking:
        names = ", ".join(f"{name}()" for name in lacking)
        hint = "Flush and restore need these methods. Redis is read by ask() and said(), or by read()."
        yield Error(f"Backup {backup.name!r} does not define {names}.", hint=hint, obj=kind, id="mirror.E015")
    if kind.is_stray is not Backup.is_stray and kind.drop is Backup.drop:
        hint = "is_stray() finds strays, and drop() removes them."
        yield Error(f"Backup {backup.name!r} does not define drop().", hint=hint, obj=kind, id="mirror.E015")
    if not _is_period(backup.every_seconds):
        hint = "The interval in seconds at which marked items are flushed to SQL."
        yield Error(
            f"Backup {backup.name!r}: every_seconds is {backup.every_seconds!r}.", hint=hint, obj=kind, id="mirror.E016"
        )


def _is_period(seconds: object) -> bool:
    return isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds > 0
