"""System checks that a declaration means the same in each process: columns that managers rewrite, and moments."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, time
from typing import Any, Final

from django.core.checks import CheckMessage, Error
from django.db import models
from django.utils.functional import Promise

from mirror.declare.mirrors import Mirror
from mirror.declare.watches import Watch

# Functions whose result depends on the moment, the process or chance.
INCONSTANT: Final = {
    "now", "utcnow", "today", "localdate", "localtime", "time", "time_ns", "monotonic",
    "uuid1", "uuid4", "random", "randint", "getpid", "getenv",
}  # fmt: skip


def check_constancy(mirror: Mirror) -> Iterator[CheckMessage]:
    """Check that no column is rewritten by a manager, and that no condition contains the moment of the import."""
    for watch in mirror.watches:
        for name, other in _find_rewritten(watch):
            column = f"{watch.model._meta.label}.{name}"
            yield Error(
                f"Mirror {mirror.name!r} reads {column}, but the model's manager reads {other}.",
                hint=f'Name the columns that contain the values: Column("{other}", name="{name}").',
                obj=type(mirror),
                id="mirror.E028",
            )
    conditions = [mirror.where, *(getattr(field, "where", None) for field in mirror.fields)]
    found = _find_calls(type(mirror))
    for condition in conditions:
        found += _find_moments(condition)
    if found:
        yield Error(
            f"A condition of mirror {mirror.name!r} depends on the moment or the process: {', '.join(found)}.",
            hint="Use constants. Leave out rows by time where they are read, or store the state in a column.",
            obj=type(mirror),
            id="mirror.E029",
        )


def _find_rewritten(watch: Watch) -> Iterator[tuple[str, str]]:
    """Yield the watched columns for which queries of the default manager read others (translations of a field)."""
    manager: models.Manager[Any] = watch.model._default_manager
    for field in watch.model._meta.concrete_fields:
        if field.column in watch.only and field.model is watch.model:
            read = _find_selected(manager, field.attname)
            if read and read != [field.column]:
                yield field.name, ", ".join(read)


def _find_selected(manager: "models.Manager[Any]", name: str) -> list[str]:
    """Return the columns that a manager's query selects for a field, or none if it cannot make a query."""
    # Any error: a manager may need a tenant, which no check has.
    with suppress(Exception):
        selected: Any = manager.values_list(name).query.select
        return [column.target.column for column in selected]
    return []


def _find_calls(declaration: type[Mirror]) -> list[str]:
    """Return the calls of inconstant functions in the conditions that the class writes."""
    try:
        [written] = ast.parse(textwrap.dedent(inspect.getsource(declaration))).body
    except (OSError, TypeError, SyntaxError, ValueError):  # made without a source
        return []
    assert isinstance(written, ast.ClassDef)
    calls = []
    for statement in written.body:
        # Conditions are assigned, so they are evaluated once, at the import. Methods run later.
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        calls += [ast.unparse(node) for node in ast.walk(statement.value) if _is_inconstant(node)]
    return calls


def _is_inconstant(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in INCONSTANT


def _find_moments(condition: Any) -> Iterator[str]:
    """Yield the values that are moments of an import (written ones have no microseconds) or have no constant text."""
    if isinstance(condition, models.Q):
        for child in condition.children:
            yield from _find_moments(child[1] if isinstance(child, tuple) else child)
    elif isinstance(condition, list | tuple):
        for part in condition:
            yield from _find_moments(part)
    elif isinstance(condition, datetime | time):
        if condition.microsecond:
            yield str(condition)
    elif isinstance(condition, Promise):
        yield f"the translated text {str(condition)!r}"
    elif callable(condition) or " at 0x" in repr(condition):
        yield repr(condition)
