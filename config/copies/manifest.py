"""The manifest of a copy: its origin, its migrations, and the checksum of its file. It is written last."""

import hashlib
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self

import orjson
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

FORMAT: Final = 1
NAME: Final = "manifest.json"


class CopyError(RuntimeError):
    """A copy cannot be taken or restored. The message names the place."""


@dataclass(frozen=True)
class Manifest:
    """The description of a copy.

    created: ISO 8601. vendor: "postgresql" or "sqlite". migrations: applied ones ("app.name").
    """

    created: str
    vendor: str
    server: str
    file: str
    size: int
    sha256: str
    migrations: list[str]
    format: int = FORMAT

    def write(self, folder: Path) -> None:
        """Write the manifest at once, so that a copy without it is known to be incomplete."""
        unfinished = folder / f"{NAME}.tmp"
        with unfinished.open("wb") as file:
            file.write(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(folder / NAME)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the manifest of a copy, after the check of its file. Raises CopyError."""
        path = folder / NAME
        if not path.is_file():
            raise CopyError(f"{folder} is no complete backup: it has no {NAME}")
        try:
            found: dict[str, Any] = orjson.loads(path.read_bytes())
            found.pop("not_in_sql", None)  # of former releases: items of Redis that SQL refused
            manifest = cls(**found)
        except (orjson.JSONDecodeError, AttributeError, TypeError):
            raise CopyError(f"{path} is not the manifest of a backup, or that of another version") from None
        if manifest.format != FORMAT:
            raise CopyError(f"{path} has format {manifest.format}; this version reads format {FORMAT}")
        copied = folder / Path(manifest.file).name
        if not copied.is_file() or compute_checksum(copied) != manifest.sha256:
            raise CopyError(f"{copied} is missing or damaged: its SHA-256 is not that of {path}")
        return manifest

    def check_migrations(self) -> None:
        """Raise CopyError if the copy has migrations that this code lacks."""
        names = {f"{app}.{name}" for app, name in MigrationLoader(None).disk_migrations or ()}
        if unknown := sorted(set(self.migrations) - names):
            raise CopyError(
                f"the backup is of a newer version of the site: this one lacks the migration {unknown[0]}"
                f" ({len(unknown)} in all). Install the version that made the backup"
            )


def list_migrations(alias: str) -> list[str]:
    """Return the applied migrations of a database, sorted."""
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connections[alias]).applied_migrations())


def compute_checksum(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
