"""Names that a package exports and imports when they are first used.

The packages of ``mirror`` need modules of one another, so a package that imported its exports at once could be needed
before it is complete. It would also load the relay into every process that only reads.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def export_lazily(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the ``__getattr__`` of a package. places: exported names, and ``module`` or ``module:name`` of each."""

    def import_name(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, original = places[name].partition(":")
        found = getattr(import_module(module), original or name)
        setattr(sys.modules[package], name, found)  # the next use finds it without this function
        return found

    return import_name
