"""Tell the project's code from that of libraries and tests."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from django.apps import AppConfig, apps

ROOT: Final = Path(__file__).resolve().parents[3]


@cache
def own_apps() -> list[AppConfig]:
    """Return the project's applications, without those that only the tests install."""
    return [config for config in apps.get_app_configs() if Path(config.path).parent == ROOT]


def is_own(module: str) -> bool:
    """Return whether a module or dotted name belongs to one of the project's applications."""
    return module.partition(".")[0] in {config.name for config in own_apps()}


def files(pattern: str) -> list[Path]:
    """Return the files of the applications and tools that match a pattern such as "*.py"."""
    folders = [*(Path(config.path) for config in own_apps()), ROOT / "tools"]
    return sorted(path for folder in folders for path in folder.rglob(pattern))


def nodes(paths: list[Path]) -> Iterator[ast.AST]:
    """Yield every node of the syntax trees of these files."""
    for path in paths:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))
