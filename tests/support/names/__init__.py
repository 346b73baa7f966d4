"""The names that others rely on, collected from the code and compared with ``tests/names.txt``.

``python -m tests.support.names`` compares; with ``--write`` it rewrites the file after a change that is meant.
One collector per module; ``sections`` lists them. This module reads and writes the file.
"""

import difflib
import os
import re
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[2] / "names.txt"
COMMAND: Final = "python -m tests.support.names --write"
WRITE: Final = "DIPTYCH_TESTS_WRITE_NAMES"  # an environment variable: rewrite instead of comparing
HEAD: Final = f"""\
Names that scripts, dashboards, bookmarks and old migrations rely on. Generated from the code and compared by
tests/test_names.py. After a change that is meant: {COMMAND}
"""
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def read() -> dict[str, list[str]]:
    """The sections of the file with their lines."""
    text = FILE.read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {title: body.strip().split("\n") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def write(sections: dict[str, list[str]]) -> None:
    """Write the file: sections by title, a blank line before each."""
    blocks = ["\n".join([f"## {title}", *lines]) for title, lines in sorted(sections.items())]
    FILE.write_text("\n\n".join([HEAD.rstrip(), *blocks]) + "\n", encoding="utf-8")


def compare(title: str, found: list[str]) -> str:
    """Return the difference between the file and the code, or "". Rewrite the section instead if asked to."""
    recorded = read()
    if os.environ.get(WRITE):
        write(recorded | {title: found})
        return ""
    diff = difflib.unified_diff(recorded.get(title, []), found, f"{FILE.name}: {title}", "the code", lineterm="", n=0)
    return "\n".join(diff)
