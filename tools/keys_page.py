"""Write ``docs/keys.md`` from the functions that name keys: ``python -m tools.keys_page``.

Every application has one function for each key in ``keys.py`` (the mirror in ``naming.py``). The docstring of the
function reads "<type>: <content>. Life: <lifetime>. Owner: <writer>."
"""

import inspect
import os
import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from mirror.redis import with_prefix

PAGE_PATH = Path(__file__).resolve().parent.parent / "docs" / "keys.md"
MODULES = ("accounts.keys", "catalog.keys", "shop.keys", "social.keys", "loginlog.keys", "mirror.redis.naming")
_DOC = re.compile(r"(?P<kind>[^:]+): (?P<holds>.+?)\. Life: (?P<life>.+?)\. Owner: (?P<owner>.+?)\.$", re.DOTALL)
# That of the rows, and of a structure that has a member.
_ORDINARY_LIFE = re.compile(r"^(always(; |$)|as (the |its row$).*|while .* has (it|a \w+)$|while there is one$)")
_SHORT_KINDS = {"string (JSON)": "JSON", "sorted set": "zset"}
HELPERS = ("key", "slot_of", "with_prefix")  # functions beside those that name keys
_TIME_UNIT = re.compile(r" \(seconds since 1970\)|seconds since 1970; ")
PAGE_HEAD = """# Keys

`python -m tools.keys_page` generates this list from the code. `{}` are literal hash tags; `REDIS_PREFIX` precedes every
key. A line has the key, its type (zset: sorted set; JSON: a string of it), its content, its life if it is not that of
its rows, and the writer if it is not all of the app. Times: seconds since 1970, unless noted.
"""


class UndocumentedKey(ValueError):
    """The docstring of a function that names a key lacks the required parts."""


def find_key_functions(module: str) -> list[Callable[..., str]]:
    """Return the functions of a module that name keys, in the order of the source."""
    found = []
    for name, function in inspect.getmembers(import_module(module), inspect.isfunction):
        is_own = function.__module__ == module
        if is_own and not name.startswith("_") and name not in HELPERS:
            found.append(function)
    return sorted(found, key=lambda function: function.__code__.co_firstlineno)


def render_row(function: Callable[..., str]) -> str:
    """Return the table row of a key. Raises Undocumented."""
    names = [f"<{name}>" for name in inspect.signature(function).parameters]
    # The docstring of a function may break its lines anywhere.
    match = _DOC.match(" ".join((function.__doc__ or "").split()))
    if match is None:
        raise UndocumentedKey(f"{function.__module__}.{function.__name__}: {function.__doc__!r}")
    # On a cluster the prefix is within a hash tag, and not at the beginning.
    name = function(*names).replace(with_prefix(""), "")
    cells = [f"`{name}`"]
    cells += [match[part].strip() for part in ("kind", "holds", "life", "owner")]
    return "| " + " | ".join(cells) + " |"


def render_line(row: str) -> str:
    """Return a row as a line of a list, which is narrower than a table."""
    key, kind, holds, life, owner = row.strip("| ").split(" | ")
    kind = kind[:1].lower() + kind[1:]
    for kind_name, short in _SHORT_KINDS.items():
        kind = kind.replace(kind_name, short)
    life = _ORDINARY_LIFE.sub("", life)
    label = "" if life.startswith(("until ", "while ")) else "life: "
    ending = f"; {label}{life}" if life else ""
    return f"- {key} {kind}: {_TIME_UNIT.sub('', holds)}{ending}." + ("" if owner == "mirror" else f" {owner}")


def render_page() -> str:
    """Return the whole page."""
    parts = [PAGE_HEAD]
    for module in MODULES:
        if find_spec(module) is None:
            continue
        parts.append(f"## {module.partition('.')[0]}\n")
        parts += [render_line(render_row(function)) for function in find_key_functions(module)]
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    PAGE_PATH.write_text(render_page(), encoding="utf-8")
