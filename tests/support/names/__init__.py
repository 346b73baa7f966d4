"""Compare the project's public names, collected from the code, with ``tests/names.txt``.

``python -m tests.support.names`` compares; ``--write`` rewrites the file after an intended change. Each module has one
collector, and ``sections`` lists them. This module reads and writes the file.
"""

import difflib
import os
import re
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[2] / "names.txt"
COMMAND: Final = "python -m tests.support.names --write"
WRITE: Final = "DIPTYCH_TESTS_WRITE_NAMES"  # environment variable: rewrite the file instead of comparing
HEAD: Final = f"""\
Names that scripts, dashboards, bookmarks and old migrations depend on. Generated from the code and compared by
tests/test_names.py. After an intended change: {COMMAND}
"""
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def read() -> dict[str, list[str]]:
    """Return the lines of each section of the file."""
    text = FILE.read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {title: body.strip().split("\n") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def write(sections: dict[str, list[str]]) -> None:
    """Write the sections in order of their titles, separated by blank lines."""
    blocks = ["\n".join([f"## {title}", *lines]) for title, lines in sorted(sections.items())]
    FILE.write_text("\n\n".join([HEAD.rstrip(), *blocks]) + "\n", encoding="utf-8")


def compare(title: str, found: list[str]) -> str:
    """Return the difference between the file and the code, or "". With ``WRITE`` set, rewrite the section."""
    recorded = read()
    if os.environ.get(WRITE):
        write(recorded | {title: found})
        return ""
    diff = difflib.unified_diff(recorded.get(title, []), found, f"{FILE.name}: {title}", "the code", lineterm="", n=0)
    return "\n".join(diff)
