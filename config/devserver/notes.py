"""The notes of the demo: a small file under ``var``, readable only by its owner, that survives restarts."""

import json
import os
from pathlib import Path
from typing import Any, Final

from config import settings

FILE: Final = Path(settings.VAR_DIR) / "demo.json"


def read(name: str) -> dict[str, Any]:
    """Return the note called ``name``, or {} if it does not exist or the file is unreadable."""
    return dict(_all().get(name, {}))


def write(name: str, what: dict[str, Any]) -> None:
    """Store ``what`` as the note called ``name``."""
    unfinished = FILE.with_suffix(".tmp")
    with open(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump({**_all(), name: what}, file, indent=1)
    unfinished.replace(FILE)


def _all() -> dict[str, Any]:
    try:
        found = json.loads(FILE.read_text())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
