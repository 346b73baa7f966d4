"""Collect the classes, ids, data attributes and events that the project's JavaScript and htmx attributes refer to."""

import re
from collections.abc import Iterator
from typing import Final

from tests.support.names.project import files

_QUERY: Final = re.compile(r"\.(?:querySelector(?:All)?|matches|closest)\(\s*[\"'`]([^\"'`]+)[\"'`]")
_BY_ID: Final = re.compile(r"\.getElementById\(\s*[\"'`]([^\"'`]+)")
_BY_CLASS: Final = re.compile(r"\.classList\.\w+\(\s*[\"'`]([^\"'`]+)")
_DATASET: Final = re.compile(r"\.dataset\.(\w+)")
_EVENT: Final = re.compile(r"(?:addEventListener\(|htmx\.trigger\([^,]+,)\s*[\"'`]([^\"'`]+)")
_HTMX: Final = re.compile(r"\b(hx-(?:target|select|select-oob|include|indicator|disabled-elt|trigger))=\"([^\"]+)\"")
_PART: Final = re.compile(r"[.#][a-zA-Z_][\w-]*|\[[\w-]+")


def collect() -> list[str]:
    """Return lines ``file: name`` for scripts, and the values of htmx attributes that name elements or events."""
    found: set[str] = set()
    for path in files("*.js"):
        found.update(f"{path.name}: {name}" for name in _names(path.read_text(encoding="utf-8")))
    for path in files("*.html"):
        found.update(f"{name}: {value}" for name, value in _HTMX.findall(path.read_text(encoding="utf-8")))
    return sorted(found)


def _names(script: str) -> Iterator[str]:
    for selector in _QUERY.findall(script):
        yield from (part + "]" * part.startswith("[") for part in _PART.findall(selector))
    yield from (f"#{name}" for name in _BY_ID.findall(script))
    yield from (f".{name}" for name in _BY_CLASS.findall(script))
    yield from (f"[data-{_dashed(name)}]" for name in _DATASET.findall(script))
    yield from (f"event {name}" for name in _EVENT.findall(script))


def _dashed(name: str) -> str:
    return re.sub(r"([A-Z])", r"-\1", name).lower()
