"""Which code is the project's own."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from django.apps import AppConfig, apps

ROOT: Final = Path(__file__).resolve().parents[3]


@cache
def own_apps() -> list[AppConfig]:
    """The project's applications, without those that only tests install."""
    return [config for config in apps.get_app_configs() if Path(config.path).parent == ROOT]


def is_own(module: str) -> bool:
    """Whether a module or dotted name belongs to one of the project's applications."""
    return module.partition(".")[0] in {config.name for config in own_apps()}


def files(pattern: str) -> list[Path]:
    """The applications' files that match a pattern, such as "*.py"."""
    return sorted(path for config in own_apps() for path in Path(config.path).rglob(pattern))


def nodes(paths: list[Path]) -> Iterator[ast.AST]:
    """Every node of the syntax trees of these files."""
    for path in paths:
        yield from ast.walk(ast.parse(path.read_text(encoding="utf-8")))
