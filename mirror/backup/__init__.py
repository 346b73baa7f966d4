"""Backups: structures that are written to Redis first and then to SQL.

An application declares a ``Backup`` in its ``backups.py``. It writes items with a Lua script that also marks them:
``script``, or ``guarded`` with ``access.write`` if the new value depends on the old one. A flush writes marked
items to SQL. ``access.fetch`` reads items and restores lost ones from SQL.
"""

from mirror.backup.declare import Backup
from mirror.backup.marks import guarded, script
from mirror.backup.registry import register

__all__ = ["Backup", "guarded", "register", "script"]
