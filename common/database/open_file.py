"""Keep SQLite readable while its disk is full.

With a write-ahead log, a connection needs a file of shared memory beside the database. The last connection that closes
deletes this file, and the next one cannot create it on a full disk, so that even reads fail. Requests close their
connections. Therefore each web process keeps one more connection, which does nothing.
"""

import sqlite3
from pathlib import Path
from typing import Final

from django.db import connection

_kept: Final[list[sqlite3.Connection]] = []


def keep_open() -> None:
    """Keep the files of SQLite open until this process ends. It must not fork afterwards."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]
        return
    name = str(connection.settings_dict["NAME"])
    if Path(name).exists():
        kept = sqlite3.connect(name, check_same_thread=False)
        kept.execute("SELECT count(*) FROM sqlite_master").fetchone()  # a connection opens its files at its first read
        _kept.append(kept)
