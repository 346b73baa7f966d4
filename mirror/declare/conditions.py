"""Conditions of declarations (``where``): the columns that they depend on, and their form behind a relation."""

from typing import Any, cast

from django.core.exceptions import FieldError, ValidationError
from django.db import models

from mirror.declare.paths import DeclarationError, Use, resolve_column
from mirror.utils.rows import all_rows


def resolve_condition(model: type[models.Model], condition: models.Q | None) -> list[Use]:
    """Return the columns in a condition.

    Raises DeclarationError for anything but a Q of names with plain values or F, and for what SQL cannot compare.
    """
    if not isinstance(condition, models.Q | None):
        raise DeclarationError(f"where is {condition!r}; write Q(field=value)")
    uses = _resolve_children(model, condition)
    try:
        all_rows(model).filter(condition or models.Q())
    except (FieldError, ValueError, TypeError, ValidationError) as error:
        raise DeclarationError(f"where={condition!r} is no condition: {error}") from None
    return uses


def _resolve_children(model: type[models.Model], condition: models.Q | None) -> list[Use]:
    uses: list[Use] = []
    if condition is None:
        return uses
    for child in condition.children:
        if isinstance(child, models.Q):
            uses += _resolve_children(model, child)
        elif isinstance(child, tuple):
            path, value = child
            uses += _resolve_comparison(model, path, value)
        else:
            raise DeclarationError(f"the condition {child!r} cannot be watched; use Q(field=value)")
    return uses


def _resolve_comparison(model: type[models.Model], path: str, value: Any) -> list[Use]:
    """Return the columns of the path and in the value, or in the values of a list."""
    uses = list(resolve_column(model, path).uses)
    if isinstance(value, (set, frozenset)):
        raise DeclarationError(f"the value of {path!r} is a set, whose order differs in each process; use a list")
    parts = [value]
    if isinstance(value, (list, tuple)):
        parts = list(value)
    for part in parts:
        uses += _resolve_value(model, path, part)
    return uses


def _resolve_value(model: type[models.Model], path: str, value: Any) -> list[Use]:
    """Return the columns in a value of a condition. Raises DeclarationError for other expressions than F."""
    if type(value) is models.F:
        return resolve_column(model, _get_name(value)).uses
    if hasattr(value, "resolve_expression"):
        raise DeclarationError(
            f"the value of {path!r} is {_describe_value(value)}, and no trigger can tell when an expression changes; "
            "use a plain value or F(field) alone"
        )
    if isinstance(value, models.Model):
        raise DeclarationError(f"the value of {path!r} is a row, whose text can change; use its primary key")
    return []


def _describe_value(value: Any) -> str:
    if isinstance(value, models.QuerySet):
        # repr() would execute the query.
        return f"a {type(value).__name__}"
    return repr(value)


def _get_name(reference: models.F) -> str:
    return str(reference.name)  # type: ignore[attr-defined]  # missing in the stubs


def _prefix_value(value: Any, prefix: str) -> Any:
    """Return a value with ``prefix`` before the path in each F."""
    if isinstance(value, (list, tuple)):
        parts = [_prefix_value(part, prefix) for part in value]
        return type(value)(parts)
    if isinstance(value, models.F):
        return models.F(prefix + _get_name(value))
    return value


def prefix_condition(condition: models.Q | None, prefix: str) -> models.Q:
    """Return a condition with ``prefix`` before each path."""
    if condition is None:
        return models.Q()
    children: list[Any] = []
    for child in cast("list[Any]", condition.children):
        if isinstance(child, models.Q):
            children.append(prefix_condition(child, prefix))
        else:
            path, value = child
            children.append((prefix + path, _prefix_value(value, prefix)))
    made = models.Q(*children, _connector=condition.connector)
    if condition.negated:
        return ~made
    return made
