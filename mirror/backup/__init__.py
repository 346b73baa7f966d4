"""The other direction: facts that are written to Redis first, and follow in SQL.

Declare a ``Backup`` in an application's ``backups.py``; write with a script that marks what it wrote
(``marks.script``); a flusher takes it to SQL, and what Redis lost comes back from there.
"""

from mirror.backup.declare import Backup
from mirror.backup.marks import script
from mirror.backup.registry import register

__all__ = ["Backup", "register", "script"]
