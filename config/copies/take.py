"""Taking a copy of the site while it runs."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connections

from config.copies.databases import Database, Snapshot, get_database
from config.copies.manifest import CopyError, Manifest, compute_checksum, list_migrations
from mirror.backup import copies, status
from mirror.conf import setting
from mirror.redis import RedisClient, relay_client
from mirror.utils import Step, ignore
from mirror.visits import consume_all


def back_up_site(folder: Path, *, step: Step = ignore) -> Manifest:
    """Write a copy of the site into an empty or new folder. Return its manifest.

    step: called with the name of each step before it. Raises CopyError, OSError, and the errors of redis-py and Django
    when Redis or SQL is away. Nothing remains in the folder after an error.
    """
    alias = str(setting("DATABASE"))
    database = get_database(alias)
    server = database.check_tools()
    made = _prepare_folder(folder)
    try:
        snapshot = _open_consistent_snapshot(database, relay_client(), step)
        try:
            created, path = datetime.now(UTC), folder / database.file_name
            step("copy")
            snapshot.write(path)
        finally:
            snapshot.close()
        path.chmod(0o600)  # it has addresses and hashes of passwords
        refused = {found.backup: found.set_aside for found in status.statuses() if found.set_aside}
        manifest = Manifest(
            created=created.isoformat(timespec="seconds"), vendor=connections[alias].vendor, server=server,
            file=path.name, size=path.stat().st_size, sha256=compute_checksum(path),
            migrations=list_migrations(alias), not_in_sql=refused,
        )  # fmt: skip
        manifest.write(folder)
    except BaseException:
        for left in folder.iterdir():
            left.unlink()
        if made:
            shutil.rmtree(folder, ignore_errors=True)
        raise
    settings.LAST_BACKUP_FILE.parent.mkdir(parents=True, exist_ok=True)
    settings.LAST_BACKUP_FILE.touch()
    return manifest


def _prepare_folder(folder: Path) -> bool:
    """Create the folder, if it does not exist. Return whether it was created. Raises CopyError if it has content."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CopyError(f"{folder} is not an empty folder: choose another, so that no older backup is overwritten")
    made = not folder.exists()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return made


def _open_consistent_snapshot(database: Database, redis: RedisClient, step: Step) -> Snapshot:
    """Return a snapshot of SQL at a moment at which it had everything that Redis had first.

    Visits of the last moment before it may be missing.
    """
    consume_all(redis)
    snapshot = copies.take_at_pause(database.open_snapshot, lambda late: late.close(), redis, step)
    if snapshot is None:
        raise CopyError(
            f"SQL was too slow {copies.TRIES} times to save the items of Redis while its writes waited"
            f' ({setting("BACKUP_PAUSE_SECONDS"):g} s): try again, or raise MIRROR["BACKUP_PAUSE_SECONDS"]'
        )
    return snapshot
