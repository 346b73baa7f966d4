"""Write ``docs/mirror/signatures.md`` from the code: ``python -m tools.signatures [--check]``.

--check: write nothing, and exit with 1 if the page is out of date.
"""

import inspect
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Final, get_origin

PAGE_PATH: Final = Path(__file__).resolve().parent.parent / "docs" / "mirror" / "signatures.md"
# The packages and modules of ``mirror`` from which applications import. Their ``__all__`` lists the public names.
PUBLIC: Final = (
    "mirror",
    "mirror.conf",
    "mirror.read",
    "mirror.windows",
    "mirror.visits",
    "mirror.redis",
    "mirror.relay",
    "mirror.verify",
    "mirror.restore",
    "mirror.outbox",
    "mirror.capture",
    "mirror.status",
    "mirror.middleware",
    "mirror.management",
    "mirror.admin",
    "mirror.metrics",
    "mirror.metrics.prometheus",
    "mirror.testing",
    "mirror.utils",
)
# Classes with methods that only other packages of ``mirror`` call.
METHODS_INTERNAL: Final = ("mirror.declare.fields", "mirror.declare.indexes", "MirrorPool", "PoolFactory")
PAGE_HEAD: Final = """# Signatures

The public names of `mirror`, without annotations and `self`. `python -m tools.signatures` generates this page from the
code; `make lint` checks it. [Public names](interface.md) tells what each package is for. `help(mirror.read.read)` shows
the docstring of a name, with its types and errors.
"""


class _Omitted:
    """Stands for the default of a parameter that is too long to print."""

    def __repr__(self) -> str:
        return "..."


OMITTED: Final = _Omitted()


def render_signature(name: str, member: Any) -> str:
    """Return a name with its parameters, without types, which the docstring or the code gives."""
    try:
        signature = inspect.signature(member)
    except ValueError:
        return name
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values() if p.name not in ("self", "cls")]
    short = [p.replace(default=OMITTED) if _is_long(p.default) else p for p in bare]
    text = str(signature.replace(parameters=short, return_annotation=inspect.Signature.empty))
    return f"{name}{text}"


def _is_long(default: Any) -> bool:
    return default is not inspect.Parameter.empty and ("<" in repr(default) or len(repr(default)) > 20)


def find_sections() -> dict[str, ModuleType]:
    """Return the public modules by name: those in ``PUBLIC``, each followed by the modules that it exports."""
    sections: dict[str, ModuleType] = {}
    for name in PUBLIC:
        sections[name] = import_module(name)
        members = (get_export(sections[name], export) for export in sections[name].__all__)
        sections |= {member.__name__: member for member in members if inspect.ismodule(member)}
    return sections


def get_export(module: ModuleType, name: str) -> Any:
    """Return an exported name of a package, which may be a module that was not imported yet."""
    try:
        return getattr(module, name)
    except AttributeError:
        return import_module(f"{module.__name__}.{name}")


def list_members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the public names of a module, and the documented methods of its classes."""
    for name in sorted(module.__all__):
        member = get_export(module, name)
        if not inspect.ismodule(member):  # a module has a section of its own
            yield name, inspect.unwrap(member) if callable(member) else member
        if inspect.isclass(member) and _is_own(member):
            yield from ((f"{name}.{method}", function) for method, function in list_methods(member, module))


def list_methods(member: type, module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the documented methods of a class, and of its bases that are not public names themselves."""
    if member.__module__ in METHODS_INTERNAL or member.__name__ in METHODS_INTERNAL:
        return
    for base in (member, *member.__bases__):
        if base is member or (base.__module__.startswith("mirror.") and not hasattr(module, base.__name__)):
            for name, function in vars(base).items():
                plain = getattr(function, "__func__", function)
                if not name.startswith("_") and inspect.isfunction(plain) and inspect.getdoc(plain):
                    yield name, plain


def _is_own(member: Any) -> bool:
    return str(member.__module__).partition(".")[0] == "mirror"


def render_line(name: str, member: Any) -> str:
    """Return the line of a public name."""
    if inspect.isclass(member) and not _is_own(member):
        return f"{name}: {member.__module__}.{member.__qualname__}"
    if inspect.isclass(member) or inspect.isfunction(member):
        return render_signature(name, member)
    if isinstance(member, (int, str)):
        return f"{name} = {member!r}"
    return f"{name}: a type" if get_origin(member) is not None else f"{name}: a {type(member).__name__}"


def render_page() -> str:
    """Return the whole page."""
    parts = [PAGE_HEAD]
    for name, module in find_sections().items():
        if lines := [render_line(*member) for member in list_members(module)]:
            parts.append("\n".join([f"## {name}\n", "```", *lines, "```", ""]))
    return "\n".join(parts)


def main() -> int:
    """Write or check the page. Return the exit code."""
    page = render_page()
    if "--check" not in sys.argv:
        PAGE_PATH.write_text(page, encoding="utf-8")
    elif not PAGE_PATH.exists() or PAGE_PATH.read_text(encoding="utf-8") != page:
        print(f"{PAGE_PATH.name} is out of date: run python -m tools.signatures", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    sys.exit(main())
