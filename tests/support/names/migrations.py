"""Collect names that migrations import from the project. Renaming one would break the creation of new databases."""

import ast
from collections.abc import Iterator

from tests.support.names.project import files, is_own, nodes


def collect() -> list[str]:
    """Return dotted names: imported modules, and the functions and classes used from them."""
    paths = [path for path in files("*.py") if path.parent.name == "migrations"]
    return sorted({name for name in _dotted(list(nodes(paths))) if is_own(name)})


def _dotted(found: list[ast.AST]) -> Iterator[str]:
    for node in found:
        match node:
            case ast.Import(names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Attribute():
                yield ast.unparse(node)
