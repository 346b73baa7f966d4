"""Collect Redis keys with their types, and the names of mirrors and kinds of visits."""

import re

from mirror import registry
from mirror.visits.declare import all_kinds
from tests.support.names.project import is_own
from tools import keys_page


def collect() -> list[str]:
    """Return lines ``key -> type`` as in docs/keys.md, with ``<>`` for each variable part."""
    rows = [
        keys_page.render_row(function)
        for module in keys_page.MODULES
        for function in keys_page.find_key_functions(module)
    ]
    cells = [row.split(" | ") for row in rows]
    keys = [(re.sub("<[a-z_]+>", "<>", key.removeprefix("| ").strip("`")), kind) for key, kind, *_ in cells]
    return sorted(f"{key} -> {kind}" for key, kind in keys)


def collect_declared() -> list[str]:
    """Return the names of mirrors with their layout versions, and of kinds of visits."""
    mirrors = [f"mirror {m.name}: layout {m.version}" for m in registry.all_mirrors() if is_own(type(m).__module__)]
    visits = [f"visits {kind.name}" for kind in all_kinds() if is_own(type(kind).__module__)]
    return sorted(mirrors + visits)
