"""System checks that a declaration means the same in each process: columns that managers rewrite, and moments."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, time
from functools import lru_cache
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
        yield from _check_managers(mirror, watch)
    yield from _check_conditions(mirror)


def _check_managers(mirror: Mirror, watch: Watch) -> Iterator[CheckMessage]:
    for name, other in _find_rewritten(watch):
        column = f"{watch.model._meta.label}.{name}"
        text = f"Mirror {mirror.name!r} reads {column}, but the model's manager reads {other}."
        hint = f'Name the columns that contain the values: Column("{other}", name="{name}").'
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E028")


def _check_conditions(mirror: Mirror) -> Iterator[CheckMessage]:
    declaration: Any = type(mirror)
    found = [*_find_calls(declaration)]
    found += _find_moments(mirror.where)
    for field in mirror.fields:
        found += _find_moments(getattr(field, "where", None))
    if found:
        text = f"A condition of mirror {mirror.name!r} depends on the moment or the process: {', '.join(found)}."
        hint = "Use constants. Leave out rows by time where they are read, or store the state in a column."
        yield Error(text, hint=hint, obj=type(mirror), id="mirror.E029")


def _find_rewritten(watch: Watch) -> Iterator[tuple[str, str]]:
    """Yield the watched columns for which queries of the default manager read others (translations of a field)."""
    model = watch.model
    manager: models.Manager[Any] = model._default_manager
    own = [field for field in model._meta.concrete_fields if field.model is model and field.column in watch.only]
    for field in own:
        columns = _find_selected(manager, field.attname)
        if columns and columns != [field.column]:
            yield field.name, ", ".join(columns)


def _find_selected(manager: "models.Manager[Any]", name: str) -> list[str]:
    """Return the columns that a manager's query selects for a field, or none if it cannot make a query."""
    # Any error: a manager may need a tenant, which no check has.
    with suppress(Exception):
        selected: Any = manager.values_list(name).query.select
        return [column.target.column for column in selected]
    return []


@lru_cache  # parsing the source takes longer than all other checks of a declaration
def _find_calls(declaration: type[Mirror]) -> tuple[str, ...]:
    """Return the calls of inconstant functions in the conditions that the class writes."""
    try:
        source = textwrap.dedent(inspect.getsource(declaration))
        [written] = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        # The class was made without a source, as in a shell.
        return ()
    assert isinstance(written, ast.ClassDef)
    calls: list[str] = []
    for statement in written.body:
        # Conditions are assigned, so they are evaluated once, at the import. Methods run later.
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            calls += [ast.unparse(node) for node in ast.walk(statement.value) if _is_inconstant(node)]
    return tuple(calls)


def _is_inconstant(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    _, _, name = ast.unparse(node.func).rpartition(".")
    return name in INCONSTANT


def _find_moments(condition: Any) -> Iterator[str]:
    """Yield the values that are moments of an import (written ones have no microseconds) or have no constant text."""
    if isinstance(condition, models.Q):
        yield from _find_moments(condition.children)
    elif isinstance(condition, list | tuple):
        # The name in a pair of name and value is constant.
        for part in condition:
            yield from _find_moments(part)
    elif isinstance(condition, datetime | time):
        if condition.microsecond:
            yield str(condition)
    elif isinstance(condition, Promise):
        yield f"the translated text {str(condition)!r}"
    elif callable(condition) or " at 0x" in repr(condition):
        yield repr(condition)
