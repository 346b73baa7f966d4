"""The notes of the demo: a small file under ``var``, readable only by its owner, that survives restarts."""

import json
import os
from pathlib import Path
from typing import Any, Final

from config import settings

NOTES_PATH: Final = Path(settings.VAR_DIR) / "demo.json"


def read_note(name: str) -> dict[str, Any]:
    """Return the note called ``name``, or {} if it does not exist or the file is unreadable."""
    return dict(_read_all().get(name, {}))


def write_note(name: str, what: dict[str, Any]) -> None:
    """Store ``what`` as the note called ``name``."""
    unfinished = NOTES_PATH.with_suffix(".tmp")
    # Created with its mode: a later chmod would leave the passwords readable for a moment.
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump({**_read_all(), name: what}, file, indent=1)
    # A killed process leaves the old notes or the new ones.
    unfinished.replace(NOTES_PATH)


def _read_all() -> dict[str, Any]:
    try:
        found = json.loads(NOTES_PATH.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
