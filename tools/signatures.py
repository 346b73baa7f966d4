"""Write ``docs/mirror/signatures.md`` from the code: ``python -m tools.signatures [--check]``.

--check: write nothing, and exit with 1 if the page is out of date.
"""

import inspect
import os
import sys
from collections.abc import Iterator, Mapping
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
    "mirror.upkeep",
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
types and errors. Readers (`get`) have asynchronous twins (`aget`).
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
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        short = parameter.replace(annotation=parameter.empty)
        if _is_long(parameter.default):
            short = short.replace(default=OMITTED)
        parameters.append(short)
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return f"{name}{text}"


def _is_long(default: Any) -> bool:
    if default is inspect.Parameter.empty:
        return False
    text = repr(default)
    # The "<" of "<function ... at 0x7f...>", which differs at each run.
    return "<" in text or len(text) > 20


def find_sections() -> dict[str, ModuleType]:
    """Return the public modules by name: those in ``PUBLIC``, each followed by the modules that it exports."""
    sections: dict[str, ModuleType] = {}
    for name in PUBLIC:
        module = import_module(name)
        sections[name] = module
        for export in module.__all__:
            member = get_export(module, export)
            if inspect.ismodule(member):
                sections[member.__name__] = member
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
            for method, function in list_methods(member, module):
                yield f"{name}.{method}", function


def list_methods(member: type, module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the documented methods of a class, and of its bases that are not public names themselves."""
    if member.__module__ in METHODS_INTERNAL or member.__name__ in METHODS_INTERNAL:
        return
    yield from _list_own_methods(member)
    for base in member.__bases__:
        if base.__module__.startswith("mirror.") and not hasattr(module, base.__name__):
            yield from _list_own_methods(base)


def _list_own_methods(member: type) -> Iterator[tuple[str, Any]]:
    for name, function in vars(member).items():
        # Class methods and static methods wrap their function.
        plain = getattr(function, "__func__", function)
        is_public = not name.startswith("_") and not _is_twin(name, vars(member))
        if is_public and inspect.isfunction(plain) and plain.__doc__:
            yield name, plain


def _is_twin(name: str, methods: Mapping[str, Any]) -> bool:
    """Return whether a method is the asynchronous twin of another one."""
    return name.startswith("a") and name[1:] in methods


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
    kind = "type" if get_origin(member) is not None else type(member).__name__
    return f"{name}: {kind}"


def render_page() -> str:
    """Return the whole page."""
    parts = [PAGE_HEAD]
    for name, module in find_sections().items():
        lines = [render_line(export, member) for export, member in list_members(module)]
        if lines:
            text = "\n".join(lines)
            parts.append(f"## {name}\n\n```\n{text}\n```\n")
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
