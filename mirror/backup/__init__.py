"""Backups: structures that are written to Redis first and then to SQL.

An application declares a ``Backup`` in its ``backups.py``. It writes items with a Lua script that also marks them:
``script``, or ``guarded`` with ``access.write`` if the new value depends on the old one. A flush writes marked
items to SQL. ``access.fetch`` reads items and restores lost ones from SQL.
"""

from typing import TYPE_CHECKING

from mirror.backup.declare import Backup
from mirror.backup.marks import guarded, script
from mirror.backup.registry import register
from mirror.utils.exports import export_lazily

if TYPE_CHECKING:
    from mirror.backup import access, copies, epoch, marks, registry, status
    from mirror.backup.flush import flush as flush_backup
    from mirror.backup.restore import restore as restore_backup
    from mirror.backup.status import BackupStatus
    from mirror.verify.scan import keys as scan_keys

__all__ = [
    "Backup",
    "BackupStatus",
    "access",
    "copies",
    "epoch",
    "flush_backup",
    "guarded",
    "marks",
    "register",
    "registry",
    "restore_backup",
    "scan_keys",
    "script",
    "status",
]

# The modules need no entry: Python imports a module of a package by itself.
__getattr__ = export_lazily(
    __name__,
    {
        "BackupStatus": "mirror.backup.status",
        "flush_backup": "mirror.backup.flush:flush",
        "restore_backup": "mirror.backup.restore:restore",
        "scan_keys": "mirror.verify.scan:keys",
    },
)
