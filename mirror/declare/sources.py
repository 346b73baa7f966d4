"""The source of a declaration's own methods, which reveals a change without a new ``version``.

The digest only warns. As a part of the version, it would rebuild a mirror whenever a variable is renamed, and with the
functions that methods call, after each refactoring. Bytecode and ``ast.dump`` differ between versions of Python.
"""

import ast
import hashlib
import inspect
import textwrap
from types import FunctionType
from typing import Any, Final

from mirror.declare.mirrors import Mirror

# Beginnings of the modules whose functions a declaration inherits; generic classes have some of ``typing``.
INHERITED: Final = ("mirror.", "typing")
WITH_DOCSTRINGS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def digest_methods(mirror: Mirror) -> str:
    """Return a digest of the methods that the declaration writes itself, or "" without any.

    Comments, docstrings and layout do not matter. Functions that the methods call are not included.
    """
    declaration = type(mirror)
    texts: list[str] = []
    # In the order of their names, which dir() returns
    for name in dir(declaration):
        function = _find_function(inspect.getattr_static(declaration, name))
        if function is not None and not function.__module__.startswith(INHERITED):
            texts.append(f"{name}: {_normalize_source(function)}")
    if not texts:
        return ""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:12]


def _find_function(attribute: Any) -> FunctionType | None:
    """Return the function of a method of any kind, or None for other attributes."""
    # Of a class method or static method, or of a property
    found = getattr(attribute, "__func__", None) or getattr(attribute, "fget", None) or attribute
    if callable(found):
        found = inspect.unwrap(found)
    if isinstance(found, FunctionType):
        return found
    return None


def _normalize_source(function: FunctionType) -> str:
    """Return the source of a function without comments, docstrings and layout, or "" if it cannot be read."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        # It was created without a file, or is a lambda within an expression.
        return ""
    for node in ast.walk(tree):
        if isinstance(node, WITH_DOCSTRINGS) and ast.get_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
