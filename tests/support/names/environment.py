"""Collect settings, the keys of ``MIRROR``, and the environment variables that the project reads."""

import ast
from collections.abc import Iterator
from types import ModuleType

from django.conf import global_settings

from config import settings
from mirror.conf import DEFAULTS
from tests.support.names.project import ROOT, files, nodes


def collect_settings() -> list[str]:
    """Return the project's own settings and the keys of ``MIRROR``."""
    sources = [path for path in files("*.py") if path.is_relative_to(ROOT / "config")]
    written = {node.id for node in nodes(sources) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own = (_names(settings) & written) - _names(global_settings)  # other upper-case names are imported from libraries
    return sorted(own | {f"MIRROR[{name!r}]" for name in DEFAULTS})


def collect_variables() -> list[str]:
    """Return lines ``NAME: kind`` for variables read by ``env.<kind>("NAME")`` or from ``os.environ``."""
    return sorted(set(_variables()))


def _names(module: ModuleType) -> set[str]:
    return {name for name in vars(module) if name.isupper()}


def _variables() -> Iterator[str]:
    for node in nodes(files("*.py")):
        match node:
            case ast.Call(func=ast.Attribute(ast.Name("env"), kind), args=[ast.Constant(str(name)), *_]):
                yield f"{name}: {kind}"
            case ast.Call(
                func=ast.Name("read_required" | "read_origin" as reader)
                | ast.Attribute(_, "read_required" | "read_origin" as reader),
                args=[ast.Constant(str(name)), *_],
            ):
                yield f"{name}: {reader.removeprefix('read_')}"
            case ast.Call(func=ast.Attribute(where, "get"), args=[ast.Constant(str(name)), *_]) if _is_environ(where):
                yield f"{name}: os.environ"
            case ast.Subscript(where, ast.Constant(str(name)), ast.Load()) if _is_environ(where):
                yield f"{name}: os.environ"
            case ast.Compare(ast.Constant(str(name)), [ast.In() | ast.NotIn()], [where]) if _is_environ(where):
                yield f"{name}: os.environ"


def _is_environ(node: ast.expr) -> bool:
    return ast.unparse(node) == "os.environ"
