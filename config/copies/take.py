"""Taking a copy of the site while it runs."""

import shutil
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.db import connections

from config.copies.databases import get_database
from config.copies.manifest import CopyError, Manifest, compute_checksum, list_migrations
from mirror.conf import setting


def back_up_site(folder: Path) -> Manifest:
    """Write a copy of the site into an empty or new folder. Return its manifest.

    The copy is a state of one moment, and no write waits for it. Redis is not needed. Raises CopyError, OSError, and
    Django's errors when SQL is away. Nothing remains in the folder after an error.
    """
    alias = str(setting("DATABASE"))
    database = get_database(alias)
    server = database.check_tools()
    made = _prepare_folder(folder)
    try:
        created, path = datetime.now(UTC), folder / database.file_name
        database.dump(path)
        path.chmod(0o600)  # it has addresses and hashes of passwords
        manifest = Manifest(
            created=created.isoformat(timespec="seconds"), vendor=connections[alias].vendor, server=server,
            file=path.name, size=path.stat().st_size, sha256=compute_checksum(path),
            migrations=list_migrations(alias),
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
