"""Paths in queries, resolved: the columns and relations of models that they lead to, and the columns behind them."""

import difflib
from typing import Any, Final, NamedTuple, cast

from django.core.exceptions import FieldDoesNotExist, FieldError, ValidationError
from django.db import connections, models
from django.db.models.constants import LOOKUP_SEP

from mirror.conf import setting
from mirror.utils.rows import all_rows

# Collations under which only equal texts are equal
BINARY_COLLATIONS: Final = frozenset(["binary", "c", "c.utf8", "c.utf-8", "posix", "ucs_basic", "pg_c_utf8"])


class DeclarationError(ValueError):
    """A declaration names something that its model does not have, or that cannot be mirrored."""


class Use(NamedTuple):
    """A column that a record depends on.

    path: the relation that leads to its rows, "" for the row itself. key: for rows that point at the mirrored row, the
    column that does; then the path is "". is_loose: whether a new row behind the path can already be pointed at: a
    foreign key has no constraint, or points at another column, whose value can pass from one row to another.
    """

    model: type[models.Model]
    column: str
    path: str = ""
    key: str = ""
    is_loose: bool = False


class Resolved(NamedTuple):
    """A resolved path.

    field: its last field. uses: the columns on the way. rest: the end of the path that is no field (a lookup).
    """

    field: "models.Field[Any, Any]"
    uses: list[Use]
    rest: str


class Relation(NamedTuple):
    """A relation to many rows.

    link: the model whose rows point at the mirrored row: the related one, or the through model. own: its foreign key to
    the mirrored row. other: its foreign key to the related row; None if it is the related row.
    """

    link: type[models.Model]
    own: "models.ForeignKey[Any, Any]"
    other: "models.ForeignKey[Any, Any] | None"

    @property
    def related(self) -> type[models.Model]:
        """Return the model of the related rows."""
        return self.link if self.other is None else self.other.related_model

    @property
    def prefix(self) -> str:
        """Return the path from a link to the related row, with its separator."""
        return "" if self.other is None else f"{self.other.name}{LOOKUP_SEP}"

    @property
    def is_complete(self) -> models.Q:
        """Return the condition that a link leads to a row: a through model may have links that lead nowhere."""
        is_nullable = self.other is not None and self.other.null
        return models.Q(**{f"{self.prefix}isnull": False}) if is_nullable else models.Q()


def find_field(model: type[models.Model], name: str) -> Any:
    """Return a field or relation of a model. Raises DeclarationError, which suggests a similar name."""
    found: Any
    try:
        found = model._meta.pk if name == "pk" else model._meta.get_field(name)
    except FieldDoesNotExist:
        names = [field.name for field in model._meta.get_fields()]
        similar = difflib.get_close_matches(name, names, 1)
        hint = f"; did you mean {similar[0]!r}?" if similar else f"; it has: {', '.join(sorted(names))}"
        raise DeclarationError(f"{model._meta.label} has no field {name!r}{hint}") from None
    reference = found.field if found.auto_created and not found.concrete else found
    if hasattr(reference, "object_id_field_name") or hasattr(reference, "ct_field"):
        raise DeclarationError(
            f"{model._meta.label}.{name} is generic, and generic relations cannot be watched; write load() and "
            "record(), with a Watch on each table"
        )
    if isinstance(reference, models.ForeignObject) and not isinstance(reference, models.ForeignKey):
        raise DeclarationError(
            f"{model._meta.label}.{name} is a ForeignObject without a column of its own, and cannot be watched; use a "
            "ForeignKey, or write load() and record(), with a Watch on each table"
        )
    if isinstance(found, models.CompositePrimaryKey):
        raise DeclarationError(f"the primary key of {model._meta.label} has several columns; name one of them")
    return found


def find_alias(model: type[models.Model], name: str) -> str:
    """Return ``name`` for an annotation, with underscores until no field of the model has it."""
    taken = {field.name for field in model._meta.get_fields()}
    taken |= {field.attname for field in model._meta.concrete_fields}
    while name in taken:
        name += "_x"
    return name


def find_value_field(field: Any) -> Any:
    """Return the field that determines a column's values: the target of a foreign key, the output of an expression.

    It is a foreign key if it points at itself, which no database can have and a check refuses.
    """
    # In a loop, because a foreign key may point at another foreign key (a one-to-one primary key).
    passed: list[Any] = []
    while True:
        if field in passed:
            return field
        if isinstance(field, models.ForeignKey):
            passed.append(field)
            field = field.target_field
        elif isinstance(field, models.GeneratedField):
            field = field.output_field
        else:
            return field


def get_concrete(model: type[models.Model]) -> type[models.Model]:
    """Return the model whose table a model uses: another one for a proxy."""
    return model._meta.concrete_model or model


def find_parent_links(model: type[models.Model], parent: type[models.Model]) -> "list[models.ForeignKey[Any, Any]]":
    """Return the one-to-one fields that lead from a model to one that it inherits from; none to itself or a proxy."""
    here = get_concrete(model)
    link: Any = None if here is parent else here._meta.get_ancestor_link(parent)
    if link is None:
        return []
    # Django answers for a grandparent with the field of the parent, so links may be missing on both sides.
    links = find_parent_links(here, link.model)
    links.append(link)
    links += find_parent_links(link.related_model, parent)
    return links


def shares_key(model: type[models.Model], parent: type[models.Model]) -> bool:
    """Return whether a row has the primary key of its part in the table of ``parent``."""
    return all(link.primary_key for link in find_parent_links(model, get_concrete(parent)))


def resolve_column(model: type[models.Model], path: str) -> Resolved:
    """Return the column at the end of a path over foreign keys and one-to-one relations.

    Raises DeclarationError for unknown names and for relations to many rows.
    """
    uses: list[Use] = []
    here, before, names = model, "", path.split(LOOKUP_SEP)
    is_loose = False
    if "" in names:
        raise DeclarationError(f"{path!r} is no path")
    for position, name in enumerate(names):
        field, rest = find_field(here, name), names[position + 1 :]
        if field.one_to_many or field.many_to_many:
            raise DeclarationError(
                f"{path!r} of {model._meta.label} leads to many rows; use Names, Ids, Values, Count or Sum for "
                f"{name!r} in fields, because no condition can contain it"
            )
        if field.auto_created and field.is_relation and not field.concrete:  # the other side of a one-to-one relation
            if before:
                raise DeclarationError(f"{path!r}: {name!r} can only come first in a path")
            _require_key_of(model, field.field)
            uses.append(Use(field.related_model, field.field.column, key=field.field.column))
            key = field.field.column
        else:
            # An inherited column belongs to the table of the model that defines it.
            owner = before
            for link in find_parent_links(here, field.model):
                if not link.primary_key:
                    uses.append(Use(link.model, link.column, owner, is_loose=is_loose))
                is_loose |= is_loose_link(link)
                owner = _join(owner, link.name)
            uses.append(Use(field.model, field.column, owner, is_loose=is_loose))
            key = ""
        if not rest or not field.is_relation or _is_lookup(field, rest[0]):
            return Resolved(field if field.concrete else field.field, uses, LOOKUP_SEP.join(rest))
        here, before = field.related_model, LOOKUP_SEP.join(names[: position + 1])
        if not key:
            require_plain_key(here)
            _require_findable(field)
            is_loose |= is_loose_link(field)
            if not field.target_field.primary_key:
                target = resolve_column(here, field.target_field.name).uses
                uses += [use._replace(path=_join(before, use.path), is_loose=True) for use in target]
        if key:  # the columns of such a row are watched by its own key
            last = resolve_column(here, LOOKUP_SEP.join(rest))
            if any(use.key for use in last.uses) and not field.field.primary_key:
                raise DeclarationError(
                    f"{path!r}: {name!r} cannot be followed by another such relation, because the primary key of "
                    f"{here._meta.label} is not that of {model._meta.label}; mirror {here._meta.label} instead"
                )
            direct = [use._replace(key=use.key or key) for use in last.uses if not use.path]
            further = [use._replace(path=_join(before, use.path)) for use in last.uses if use.path]
            return last._replace(uses=[*uses, *direct, *further])
    raise AssertionError("a path has at least one name")


def _join(before: str, name: str) -> str:
    if before and name:
        return f"{before}{LOOKUP_SEP}{name}"
    return before or name


def _is_lookup(field: Any, name: str) -> bool:
    """Return whether a name after a relation is a lookup of its foreign key (``isnull``), and no field behind it."""
    known = {found.name for found in field.related_model._meta.get_fields()} | {"pk"}
    known |= {found.attname for found in field.related_model._meta.concrete_fields}
    return name not in known and field.get_lookup(name) is not None


def _require_key_of(model: type[models.Model], link: Any) -> None:
    """Refuse a foreign key whose values are not the primary keys of the mirrored rows at which it points."""
    if not link.target_field.primary_key:
        raise DeclarationError(f"{link} does not point at a primary key, so its changes name no row")
    collation = getattr(find_value_field(link.target_field), "db_collation", None)
    if collation and collation.lower() not in BINARY_COLLATIONS:
        raise DeclarationError(
            f"{link} points at a primary key with the collation {collation!r}, under which another text than the "
            'key\'s may be equal to it, so its changes name no row; give the key the collation "C" (PostgreSQL) or '
            '"BINARY" (SQLite)'
        )
    if not shares_key(model, link.related_model):
        raise DeclarationError(
            f"{link} points at {link.related_model._meta.label}, whose primary key is another than that of "
            f"{model._meta.label}, so its changes name no row; mirror {link.related_model._meta.label} instead"
        )


def require_plain_key(model: type[models.Model]) -> None:
    """Refuse a model whose rows Python and the triggers name in different ways."""
    field = find_value_field(model._meta.pk)
    methods = {name for kind in type(field).__mro__ if not kind.__module__.startswith("django.") for name in vars(kind)}
    if methods & {"from_db_value", "get_prep_value", "get_db_prep_value"}:
        raise DeclarationError(
            f"Python converts the primary key of {model._meta.label} ({type(field).__name__}), so that triggers name "
            "its rows in another way; write load(), record() and keys_after(), with keys as SQL has them"
        )
    if "db_type" in methods:
        kind = str(field.db_type(connections[setting("DATABASE")])).lower()
        if kind.startswith(("char(", "character(", "bpchar")):
            raise DeclarationError(
                f"the primary key of {model._meta.label} has the type {kind}, which pads texts with blanks; use varchar"
            )


def is_nullable(model: type[models.Model], path: str) -> bool:
    """Return whether the column at the end of a path may be missing or NULL."""
    here: Any = model
    for name in path.split(LOOKUP_SEP):
        field = find_field(here, name)
        if not field.concrete or field.null:
            return True
        here = field.related_model
    return False


def find_inner_path(model: type[models.Model], path: str) -> str:
    """Return the beginning of a path that Django joins with INNER, although a row behind it may not exist, or ""."""
    here: Any = model
    names, required = path.split(LOOKUP_SEP), ""
    for position, name in enumerate(names[:-1]):
        field = find_field(here, name)
        if not field.concrete or field.null:
            break
        if not field.db_constraint:
            required = LOOKUP_SEP.join(names[: position + 2])
        here = field.related_model
    return required


def _require_findable(link: Any) -> None:
    """Refuse a foreign key from which no row is found after the row behind it was deleted."""
    if not link.db_constraint and not link.target_field.primary_key:
        raise DeclarationError(
            f"{link} has neither a constraint nor the primary key of {link.related_model._meta.label} as its target, "
            "so a deleted row names none; give it one of them"
        )


def is_loose_link(link: Any) -> bool:
    """Return whether a foreign key can point at a row before that row is inserted (``Use.is_loose``)."""
    return not link.db_constraint or not link.target_field.primary_key


def resolve_relation(model: type[models.Model], name: str) -> Relation:
    """Return the relation to many rows called ``name``. Raises DeclarationError if it is none."""
    if LOOKUP_SEP in name:
        raise DeclarationError(
            f"{name!r} has several steps, and a relation of {model._meta.label} has one; name a column of its rows as "
            "field, or mirror the model between"
        )
    field = find_field(model, name)
    if field.many_to_many:
        is_forward = isinstance(field, models.ManyToManyField)
        many = field if is_forward else field.field
        ends = [many.m2m_field_name(), many.m2m_reverse_field_name()]
        own, other = ends if is_forward else reversed(ends)
        through = many.remote_field.through
        return Relation(through, _get_link(through, own), _get_link(through, other))
    if field.one_to_many:
        return Relation(field.related_model, field.field, None)
    raise DeclarationError(f"{model._meta.label}.{name} does not lead to many rows; name the column instead")


def _get_link(through: type[models.Model], name: str) -> "models.ForeignKey[Any, Any]":
    link = find_field(through, name)
    if find_parent_links(through, link.model):
        raise DeclarationError(
            f"{through._meta.label} inherits {name!r} from {link.model._meta.label}, so its links are in two tables; "
            "define both foreign keys in one model"
        )
    return cast("models.ForeignKey[Any, Any]", link)


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
    for child in condition.children if condition else ():
        if isinstance(child, models.Q):
            uses += _resolve_children(model, child)
            continue
        if not isinstance(child, tuple):
            raise DeclarationError(f"the condition {child!r} cannot be watched; use Q(field=value)")
        path, value = child
        uses += resolve_column(model, path).uses
        if isinstance(value, (set, frozenset)):
            raise DeclarationError(f"the value of {path!r} is a set, whose order differs in each process; use a list")
        parts = value if isinstance(value, (list, tuple)) else [value]
        for part in parts:
            uses += _resolve_value(model, path, part)
    return uses


def _resolve_value(model: type[models.Model], path: str, value: Any) -> list[Use]:
    """Return the columns in a value of a condition. Raises DeclarationError for other expressions than F."""
    if type(value) is models.F:
        return resolve_column(model, _get_name(value)).uses
    if hasattr(value, "resolve_expression"):
        raise DeclarationError(
            f"the value of {path!r} is {_describe(value)}, and no trigger can tell when an expression changes; use a "
            "plain value or F(field) alone"
        )
    if isinstance(value, models.Model):
        raise DeclarationError(f"the value of {path!r} is a row, whose text can change; use its primary key")
    return []


def _describe(value: Any) -> str:
    return f"a {type(value).__name__}" if isinstance(value, models.QuerySet) else repr(value)  # whose text is a query


def _get_name(reference: models.F) -> str:
    return str(reference.name)  # type: ignore[attr-defined]  # missing in the stubs


def _prefix_value(value: Any, prefix: str) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_prefix_value(part, prefix) for part in value)
    if isinstance(value, models.F):
        return models.F(prefix + _get_name(value))
    return value


def prefix_condition(condition: models.Q | None, prefix: str) -> models.Q:
    """Return a condition with ``prefix`` before each path."""
    made = models.Q()
    if condition is None:
        return made
    children: list[Any] = []
    for child in cast("list[Any]", condition.children):
        if isinstance(child, models.Q):
            children.append(prefix_condition(child, prefix))
        else:
            path, value = child
            children.append((prefix + path, _prefix_value(value, prefix)))
    made = models.Q(*children, _connector=condition.connector)
    return ~made if condition.negated else made


def resolve_plain(model: type[models.Model], name: str) -> Relation:
    """Return a relation whose foreign key contains the primary key of the mirrored row."""
    relation = resolve_relation(model, name)
    _require_key_of(model, relation.own)
    if relation.other is not None:
        _require_key_of(relation.related, relation.other)
        require_plain_key(relation.related)
    return relation
