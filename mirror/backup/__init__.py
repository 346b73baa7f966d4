"""The other direction: facts that are written to Redis first, and follow in SQL.

Declare a ``Backup`` in an application's ``backups.py``; write with a script that marks what it wrote
(``script``; where it builds on what is there, ``guarded`` and ``access.write``); a flusher takes it to SQL, and what
Redis lost comes back from there (``access.fetch``, for readers).
"""

from mirror.backup.declare import Backup
from mirror.backup.marks import guarded, script
from mirror.backup.registry import register

__all__ = ["Backup", "guarded", "register", "script"]
