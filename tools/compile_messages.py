"""Compile message catalogues. The build of the wheel runs this without the packages of the site."""

import os
from pathlib import Path

import polib


def compile_catalogues(root: Path) -> None:
    """Write each ``.mo`` file below ``root`` that is missing or older than its ``.po`` file."""
    for source in root.glob("*/locale/*/LC_MESSAGES/*.po"):
        target = source.with_suffix(".mo")
        if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
            # Under another name first, because processes that start together compile the same file.
            unfinished = target.with_suffix(f".{os.getpid()}.tmp")
            polib.pofile(str(source)).save_as_mofile(str(unfinished))
            unfinished.replace(target)
