"""The source of a declaration's own methods, which reveals a change without a new ``version``.

The digest only warns. As a part of the version, it would rebuild a mirror whenever a variable is renamed, and with the
functions that methods call, after each refactoring. Bytecode and ``ast.dump`` differ between versions of Python.
"""

import ast
import hashlib
import inspect
import textwrap
from types import FunctionType
from typing import Any

from mirror.declare.mirrors import Mirror


def digest_methods(mirror: Mirror) -> str:
    """Return a digest of the methods that the declaration writes itself, or "" without any.

    Comments, docstrings and layout do not matter. Functions that the methods call are not included.
    """
    declaration = type(mirror)
    written = {name: _find_function(inspect.getattr_static(declaration, name)) for name in dir(declaration)}
    texts = [
        f"{name}: {_normalize(function)}"
        for name, function in sorted(written.items())
        # Generic classes inherit functions of ``typing``.
        if function is not None and not function.__module__.startswith(("mirror.", "typing"))
    ]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12] if texts else ""


def _find_function(attribute: Any) -> FunctionType | None:
    """Return the function of a method of any kind, or None for other attributes."""
    found = getattr(attribute, "__func__", None) or getattr(attribute, "fget", None) or attribute
    found = inspect.unwrap(found) if callable(found) else found
    return found if isinstance(found, FunctionType) else None


def _normalize(function: FunctionType) -> str:
    """Return the source of a function without comments, docstrings and layout, or "" if it cannot be read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):  # created without a file; a lambda within an expression
        return ""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
