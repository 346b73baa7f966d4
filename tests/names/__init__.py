"""Collect the project's public names, and compare them with ``tests/names.txt``.

``WRITE=1 python -m pytest tests/test_names.py`` rewrites the file after an intended change.
"""

import difflib
import os
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).resolve().parents[1] / "names.txt"
COMMAND: Final = "WRITE=1 python -m pytest tests/test_names.py"
HEAD: Final = f"""\
Names that scripts, dashboards, bookmarks and old migrations depend on. Generated from the code and compared by
tests/test_names.py. After an intended change: {COMMAND}"""


def read() -> dict[str, list[str]]:
    """Return the lines of each section of the file."""
    _, *parts = re.split(r"^## (.+)$", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {title: body.strip().split("\n") for title, body in zip(parts[::2], parts[1::2], strict=True)}


def compare(title: str, found: list[str], titles: Collection[str]) -> str:
    """Return the difference between the file and the code, or "". With ``WRITE`` set, rewrite the section first.

    titles: of all sections. Others are removed from a file that is rewritten.
    """
    recorded = read()
    if os.environ.get("WRITE"):
        recorded = {one: lines for one, lines in recorded.items() if one in titles} | {title: found}
        blocks = ["\n".join([f"## {one}", *lines]) for one, lines in sorted(recorded.items())]
        FILE.write_text("\n\n".join([HEAD, *blocks]) + "\n", encoding="utf-8")
    diff = difflib.unified_diff(recorded.get(title, []), found, f"{FILE.name}: {title}", "the code", lineterm="", n=0)
    return "\n".join(diff)
