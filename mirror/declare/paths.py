"""Paths in queries, resolved: the columns and relations of models that they lead to, and the columns behind them."""

import difflib
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, cast

from django.core.exceptions import FieldDoesNotExist
from django.db import connections, models
from django.db.models.constants import LOOKUP_SEP

from mirror.conf import setting

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

    def behind(self, path: str) -> "Use":
        """Return the same use by a row from which ``path`` leads to the present one."""
        return self._replace(path=_join_paths(path, self.path))

    def from_target(self, name: str, key: str) -> "Use":
        """Return the same use by the row at which the present one points with the column ``key``.

        name: the relation from that row to the present one.
        """
        if self.path:
            return self.behind(name)
        # A change of the present row names the other one, so no relation has to be followed.
        return self._replace(key=self.key or key)


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
        if self.other is None:
            return self.link
        return self.other.related_model

    @property
    def prefix(self) -> str:
        """Return the path from a link to the related row, with its separator."""
        if self.other is None:
            return ""
        return f"{self.other.name}{LOOKUP_SEP}"

    @property
    def is_complete(self) -> models.Q:
        """Return the condition that a link leads to a row: a through model may have links that lead nowhere."""
        condition = models.Q()
        if self.other is not None and self.other.null:
            condition &= models.Q(**{f"{self.prefix}isnull": False})
        return condition


def find_field(model: type[models.Model], name: str) -> Any:
    """Return a field or relation of a model. Raises DeclarationError, which suggests a similar name."""
    found = _get_field(model, name)
    reference = found
    if found.auto_created and not found.concrete:
        # The other side of a relation is watched by its foreign key.
        reference = found.field
    label = model._meta.label
    if hasattr(reference, "object_id_field_name") or hasattr(reference, "ct_field"):
        raise DeclarationError(
            f"{label}.{name} is generic, and generic relations cannot be watched; write load() and record(), with a "
            "Watch on each table"
        )
    if isinstance(reference, models.ForeignObject) and not isinstance(reference, models.ForeignKey):
        raise DeclarationError(
            f"{label}.{name} is a ForeignObject without a column of its own, and cannot be watched; use a ForeignKey, "
            "or write load() and record(), with a Watch on each table"
        )
    if isinstance(found, models.CompositePrimaryKey):
        raise DeclarationError(f"the primary key of {label} has several columns; name one of them")
    return found


def _get_field(model: type[models.Model], name: str) -> Any:
    # The alias of queries, which get_field does not know
    if name == "pk":
        return model._meta.pk
    try:
        return model._meta.get_field(name)
    except FieldDoesNotExist:
        hint = _suggest_field(model, name)
        raise DeclarationError(f"{model._meta.label} has no field {name!r}; {hint}") from None


def _suggest_field(model: type[models.Model], name: str) -> str:
    """Return a hint for a wrong name: the field that is probably meant, or all fields."""
    names = sorted(field.name for field in model._meta.get_fields())
    similar = difflib.get_close_matches(name, names, 1)
    if similar:
        return f"did you mean {similar[0]!r}?"
    return f"it has: {', '.join(names)}"


def list_names(model: type[models.Model]) -> set[str]:
    """Return the names that a query of a model knows: of its fields and relations, and of the ids in foreign keys."""
    names = {field.name for field in model._meta.get_fields()}
    names |= {field.attname for field in model._meta.concrete_fields}
    return names


def find_alias(model: type[models.Model], name: str) -> str:
    """Return ``name`` for an annotation, with underscores until no field of the model has it."""
    # Django refuses an annotation with the name of a field.
    taken = list_names(model)
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
    return _PathWalk(model, path).resolve()


class _PathWalk:
    """The way along a path, with the columns that were used on it.

    here: the model whose field comes next. before: the path to that model. is_loose: whether a new row can already be
    pointed at by this path (``Use.is_loose``).
    """

    def __init__(self, model: type[models.Model], path: str) -> None:
        self.model = model
        self.path = path
        self.here = model
        self.before = ""
        self.is_loose = False
        self.uses: list[Use] = []

    def resolve(self) -> Resolved:
        """Return the column at the end."""
        names = self.path.split(LOOKUP_SEP)
        if "" in names:
            raise DeclarationError(f"{self.path!r} is no path")
        while True:
            name, *rest = names
            field = find_field(self.here, name)
            self._require_one_row(field, name)
            if field.one_to_one and not field.concrete:
                return self._resolve_reverse(field, rest)
            self._use_column(field)
            if _is_last(field, rest):
                return Resolved(field, self.uses, LOOKUP_SEP.join(rest))
            self._follow_link(field, name)
            names = rest

    def _require_one_row(self, field: Any, name: str) -> None:
        if field.one_to_many or field.many_to_many:
            raise DeclarationError(
                f"{self.path!r} of {self.model._meta.label} leads to many rows; use Names, Ids, Values, Count or Sum "
                f"for {name!r} in fields, because no condition can contain it"
            )

    def _use_column(self, field: Any) -> None:
        """Add a field's column, which belongs to the table of the model that defines it, and the way to that table."""
        owner = self.before
        for link in find_parent_links(self.here, field.model):
            # Changes of primary keys are captured in any case.
            if not link.primary_key:
                self._add_use(link.model, link.column, owner)
            self.is_loose |= is_loose_link(link)
            owner = _join_paths(owner, link.name)
        self._add_use(field.model, field.column, owner)

    def _add_use(self, model: type[models.Model], column: str, path: str) -> None:
        self.uses.append(Use(model, column, path, is_loose=self.is_loose))

    def _follow_link(self, link: Any, name: str) -> None:
        """Go to the model at which a foreign key points."""
        self.here = link.related_model
        self.before = _join_paths(self.before, name)
        require_plain_key(self.here)
        _require_findable(link)
        self.is_loose |= is_loose_link(link)
        if not link.target_field.primary_key:
            # The value at which the key points can pass from one row to another, so its column is used as well.
            target = resolve_column(self.here, link.target_field.name)
            for use in target.uses:
                self.uses.append(use.behind(self.before)._replace(is_loose=True))

    def _resolve_reverse(self, relation: Any, rest: list[str]) -> Resolved:
        """Resolve the path from the other side of a one-to-one relation on."""
        name = relation.name
        if self.before:
            raise DeclarationError(
                f"{self.path!r}: {name!r} is the other side of a one-to-one relation and can only come first in a "
                f"path; mirror {self.here._meta.label} as well, or write load() and record(), with a Watch on each "
                "table"
            )
        link = relation.field
        _require_key_of(self.model, link)
        self.uses.append(Use(relation.related_model, link.column, key=link.column))
        if _is_last(relation, rest):
            return Resolved(link, self.uses, LOOKUP_SEP.join(rest))
        last = resolve_column(relation.related_model, LOOKUP_SEP.join(rest))
        if any(use.key for use in last.uses) and not link.primary_key:
            label = relation.related_model._meta.label
            raise DeclarationError(
                f"{self.path!r}: {name!r} cannot be followed by another such relation, because the primary key of "
                f"{label} is not that of {self.model._meta.label}; mirror {label} instead"
            )
        self.uses += [use.from_target(name, link.column) for use in sort_uses(last.uses)]
        return last._replace(uses=self.uses)


def sort_uses(uses: Iterable[Use]) -> list[Use]:
    """Return the columns of the row itself, and then those behind paths."""
    # Otherwise in the given order, because the order of the columns is that in the triggers.
    return sorted(uses, key=lambda use: use.path != "")


def _join_paths(before: str, name: str) -> str:
    if before and name:
        return f"{before}{LOOKUP_SEP}{name}"
    return before or name


def _is_last(field: Any, rest: list[str]) -> bool:
    """Return whether a path ends with a field: ``rest`` is empty, or a lookup (``isnull``)."""
    if not rest or not field.is_relation:
        return True
    name = rest[0]
    is_field = name == "pk" or name in list_names(field.related_model)
    return not is_field and field.get_lookup(name) is not None


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
    # Triggers write a key as the text of its value in SQL, and Python as str() of its own value.
    field = find_value_field(model._meta.pk)
    methods = list_custom_methods(field)
    if methods & {"from_db_value", "get_prep_value", "get_db_prep_value"}:
        raise DeclarationError(
            f"Python converts the primary key of {model._meta.label} ({type(field).__name__}), so that triggers name "
            "its rows in another way; write load(), record() and keys_after(), with keys as SQL has them"
        )
    if "db_type" not in methods:
        return
    kind = str(field.db_type(connections[setting("DATABASE")])).lower()
    if kind.startswith(("char(", "character(", "bpchar")):
        raise DeclarationError(
            f"the primary key of {model._meta.label} has the type {kind}, which pads texts with blanks; use varchar"
        )


def list_custom_methods(field: Any) -> set[str]:
    """Return the names of the attributes that a project or library, and not Django, defines for a kind of field."""
    names: set[str] = set()
    for kind in type(field).__mro__:
        if not kind.__module__.startswith("django."):
            names |= vars(kind).keys()
    return names


def is_nullable(model: type[models.Model], path: str) -> bool:
    """Return whether the column at the end of a path may be missing or NULL."""
    here: Any = model
    for name in path.split(LOOKUP_SEP):
        field = find_field(here, name)
        # The row on the other side of a one-to-one relation may be missing as well.
        if not field.concrete or field.null:
            return True
        here = field.related_model
    return False


def find_inner_path(model: type[models.Model], path: str) -> str:
    """Return the beginning of a path that Django joins with INNER, although a row behind it may not exist, or ""."""
    here: Any = model
    names = path.split(LOOKUP_SEP)
    required = ""
    for position, name in enumerate(names[:-1]):
        link = find_field(here, name)
        if not link.concrete or link.null:
            # Django joins this relation, and all behind it, with LEFT OUTER.
            break
        if not link.db_constraint:
            required = LOOKUP_SEP.join(names[: position + 2])
        here = link.related_model
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
    if field.one_to_many:
        return Relation(field.related_model, field.field, None)
    if not field.many_to_many:
        raise DeclarationError(f"{model._meta.label}.{name} does not lead to many rows; name the column instead")
    declared = field.field if field.auto_created else field
    if not isinstance(declared, models.ManyToManyField):
        raise DeclarationError(_explain_links(model, field, declared))
    if field is declared:
        return _resolve_links(field, field.m2m_field_name(), field.m2m_reverse_field_name())
    # From the other side, the two foreign keys of the through model change their parts.
    return _resolve_links(declared, declared.m2m_reverse_field_name(), declared.m2m_field_name())


def _explain_links(model: type[models.Model], field: Any, declared: Any) -> str:
    """Return why a relation of a library, such as taggit's, is refused, and the relation to its links instead."""
    through, related = declared.remote_field.through, field.related_model
    links = [relation.name for relation in model._meta.related_objects if relation.related_model is through]
    ends = [link.name for link in through._meta.concrete_fields if link.related_model is related]
    hint = "write load() and record(), with a Watch on each table"
    if links and ends:
        hint = f'name a column behind its links, as in Values("{links[0]}", "{ends[0]}__name", name="{field.name}")'
    return f"{model._meta.label}.{field.name} is a {type(declared).__name__} and no ManyToManyField; {hint}"


def _resolve_links(field: Any, own: str, other: str) -> Relation:
    """Return the relation over the through model of a field, given the names of its foreign keys."""
    through = field.remote_field.through
    return Relation(through, _get_link(through, own), _get_link(through, other))


def _get_link(through: type[models.Model], name: str) -> "models.ForeignKey[Any, Any]":
    link = find_field(through, name)
    if find_parent_links(through, link.model):
        raise DeclarationError(
            f"{through._meta.label} inherits {name!r} from {link.model._meta.label}, so its links are in two tables; "
            "define both foreign keys in one model"
        )
    return cast("models.ForeignKey[Any, Any]", link)


def resolve_plain(model: type[models.Model], name: str) -> Relation:
    """Return a relation whose foreign key contains the primary key of the mirrored row."""
    relation = resolve_relation(model, name)
    _require_key_of(model, relation.own)
    if relation.other is not None:
        _require_key_of(relation.related, relation.other)
        require_plain_key(relation.related)
    return relation
