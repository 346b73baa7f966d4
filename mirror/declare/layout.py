"""Layouts: from the fields and indexes of a declaration to watches, rows, records, entries and key families."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from functools import cached_property, partial
from typing import Any

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import models, transaction
from django.utils import timezone

from mirror.conf import database
from mirror.declare.buckets import find_bucket_start
from mirror.declare.entries import Contribution
from mirror.declare.fields import Column, Count, Sum, Values, is_array, is_converted, make_plain
from mirror.declare.indexes import Index, parse_template
from mirror.declare.layout_watches import build_watches
from mirror.declare.mirrors import Mirror, can_hold, get_primary
from mirror.declare.paths import (
    DeclarationError,
    Use,
    find_alias,
    find_inner_path,
    find_value_field,
    is_nullable,
    require_plain_key,
    resolve_column,
    resolve_condition,
)
from mirror.declare.watches import Family
from mirror.utils.compiled import KeyedQuery, Keys
from mirror.utils.rows import all_rows

Record = dict[str, Any]
# Fields with values that JSON has. Other values are converted one by one, which every row of a rebuild would pay for.
PLAIN = (models.IntegerField, models.CharField, models.TextField, models.BooleanField)
AnyField = Column | Values | Count | Sum
FIELDS = (Column, Values, Count, Sum)
NUMBERS_AND_TIMES = (models.IntegerField, models.FloatField, models.DecimalField, models.DateField, models.BooleanField)


class Layout:
    """The derived parts of one declaration. Raises DeclarationError for a name that the model does not have.

    version: a digest of everything that determines records and entries, with the types of the columns.
    """

    def __init__(self, mirror: type[Mirror]) -> None:
        _check_attributes(mirror)
        self.model, self.where, self.indexes = mirror.model, mirror.where, tuple(mirror.indexes)
        self.pk, self.key = get_primary(self.model), mirror.key
        self.is_hash = mirror.record_kind == "hash"
        # A method computes the entries; the indexes then only describe them to readers.
        self.is_computed = mirror.index is not Mirror.index or not mirror.has_record
        self.fields = _make_fields(mirror.fields)
        uses = self._find_uses()  # first, because it explains wrong names and conditions
        self.kinds = {name: field.find_column(self.model) for name, field in self.fields.items()}
        self._sort_fields()
        if self.is_hash:
            self._check_hash()
        self._check_indexes()
        compiled = () if self.is_computed else self.indexes
        self.index_rows = [index.compile() for index in compiled]
        # None: a function of the record, which may use any field.
        self.index_fields = [None if callable(index.when) else sorted(index.find_fields()) for index in compiled]
        self.watches = build_watches(self.model, [*uses, *resolve_condition(self.model, self.where)])
        self.version = self._digest()
        self._rows = KeyedQuery(self.pk, self._select_rows)
        self._lists = {
            name: KeyedQuery(self.pk, partial(field.select, self.model)) for name, field in self.lists.items()
        }

    def _sort_fields(self) -> None:
        """Sort the fields by the way in which SQL reads them: columns, lists and expressions."""
        self.paths: dict[str, str] = {}
        self.lists: dict[str, Values] = {}
        self.expressions: dict[str, Any] = {}
        self.aliases: dict[str, str] = {}
        for name, field in self.fields.items():
            if isinstance(field, Column):
                self.paths[name] = field.path
            elif isinstance(field, Values):
                self.lists[name] = field
            else:
                # The name of a field may also be one of a column, which Django refuses as the name of an expression.
                self.aliases[name] = find_alias(self.model, f"mirror_value_{len(self.aliases)}")
                self.expressions[name] = field.build_expression(self.model)
        inner_paths = {find_inner_path(self.model, path) for path in self.paths.values()}
        self.inner_paths = sorted(inner_paths - {""})
        self.plain = {name for name in self.paths if _is_plain(self.kinds[name])}

    def _find_uses(self) -> list[Use]:
        """Return the columns of all tables from which the fields are computed."""
        uses: list[Use] = []
        for field in self.fields.values():
            uses += field.find_uses(self.model)
        return uses

    def _check_hash(self) -> None:
        for name in self.lists:
            raise DeclarationError(f"a hash cannot contain the list {name!r}")
        for name, kind in self.kinds.items():
            if is_array(kind):
                raise DeclarationError(f"a hash cannot contain the array {name!r}")

    @cached_property
    def value_pk(self) -> "models.Field[Any, Any]":
        """Return the field that determines the values of the primary key."""
        field: models.Field[Any, Any] = find_value_field(self.pk)
        return field

    def can_derive(self, index: Index) -> bool:
        """Return whether the members of an index in SQL follow from the declaration."""
        return bool(self.fields) and not self.is_computed and not callable(index.when)

    def _check_indexes(self) -> None:
        known: dict[str, Index] = {}
        for index in self.indexes:
            if not isinstance(index, Index):
                raise DeclarationError(f"indexes contains {index!r}, which is no index")
            if not self.is_computed:
                other = known.setdefault(index.key, index)
                if not _can_share(other, index):
                    raise DeclarationError(f"{index!r} has the key of {other!r}; give each a key of its own")
                self._check_index(index)
            elif index.sql is None:
                raise DeclarationError(f"{index!r}: a method computes its entries; give sql= for its readers")

    def _check_index(self, index: Index) -> None:
        index.check()
        if self.is_hash and isinstance(index.when, str) and index.when:
            raise DeclarationError(f'{index!r}: a hash has only text, and "0" is true; use a function as when=')
        # Without fields, record() is a method, and nobody knows the names in its result.
        unknown = index.find_fields() - self.fields.keys() if self.fields else ()
        for name in sorted(unknown):
            raise DeclarationError(f"{index!r} needs the field {name!r}, which fields does not contain")
        self._check_texts(index)
        self._check_score(index)

    def _check_score(self, index: Index) -> None:
        score = getattr(index, "score", "")
        kind = self.kinds.get(score) if isinstance(score, str) else None
        if kind is None:
            return
        if score in self.lists or not isinstance(kind, NUMBERS_AND_TIMES) or is_converted(kind):
            raise DeclarationError(f"{index!r}: {score!r} is neither a number nor a date nor a time with a date")
        if self.is_hash and score in self.paths and is_nullable(self.model, self.paths[score]):
            raise DeclarationError(f"{index!r}: in a hash, a missing {score!r} is an empty text and no number")

    def _check_texts(self, index: Index) -> None:
        """Refuse fields whose values have no text that SQL could look up, as a part of a key or as ``when``."""
        when = index.when if isinstance(index.when, str) else ""
        parts = {index.over, when, *index.template.names} & self.fields.keys()
        named = index.find_fields() - {getattr(index, "score", "")} | parts
        for name in sorted(named & self.fields.keys()):
            kind = self.kinds[name]
            depth = _count_lists(kind) + (1 if name in self.lists else 0)
            if _has_no_text(kind) or depth > 1:
                raise DeclarationError(
                    f"{index!r}: {name!r} is {_describe(kind)}, and its text is no part of a key or member; name a "
                    "column or relation"
                )
            if name in parts and is_converted(kind):
                raise DeclarationError(
                    f"{index!r}: SQL cannot look up {name!r}, whose values {type(kind).__name__} converts; write "
                    "index(), or name another column"
                )
            if depth == 0:
                continue
            if name not in parts:
                raise DeclarationError(f"{index!r}: {name!r} is a list, and its text is no part of a member")
            if name in index.template.names:
                raise DeclarationError(f'{index!r}: {name!r} is a list; write over={name!r} and "{{value}}" in the key')

    def try_queries(self, using: str, *, is_executed: bool) -> None:
        """Raise the error of a query that a database cannot execute.

        is_executed: execute them for the first row. Otherwise they are only compiled.
        """
        first: Any = all_rows(self.model, using).order_by("pk").values("pk")[:1]
        queries = [field.select(self.model, first) for field in self.lists.values()]
        queries.append(self._select_rows(first))
        with timezone.override(UTC):
            for rows in queries:
                _try_query(rows, using, is_executed)

    def _digest(self) -> str:
        parts: list[Any] = [self.model._meta.label, self.key, self.where, self.is_hash]
        parts += self.fields.items()
        for path in self.paths.values():
            parts.append(resolve_column(self.model, path).field.get_internal_type())
        for name in self.expressions:
            kind = self.kinds[name]
            if isinstance(kind, models.DecimalField):
                parts.append(f"sum with {kind.decimal_places} places")
        # Sites have stored this digest. Another text, even of equal meaning, would rebuild all their mirrors.
        described = [repr(part) for part in parts]
        described += [index.describe() for index in self.indexes]
        return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]

    def load(self, pks: Sequence[str]) -> Mapping[str, Record]:
        """Return the records of the existing rows that meet the condition, in one query and one more for each list."""
        # Years and dates in conditions are those of UTC, in each process and under each visitor's time zone.
        with timezone.override(UTC):
            return self._load(pks)

    def _load(self, pks: Sequence[str]) -> Mapping[str, Record]:
        using = database()
        names = [*self.paths, *self.expressions]
        # A key in Redis may be a stray that no row can have, and whose text the column would refuse.
        possible = [self.pk.to_python(pk) for pk in dict.fromkeys(pks) if can_hold(self.pk, pk)]
        found = self._rows.fetch(possible, using)
        records = {str(pk): dict(zip(names, values, strict=False)) for pk, *values in found}
        for name in names:
            if name not in self.plain:
                for record in records.values():
                    record[name] = make_plain(record[name], self.kinds.get(name))
        for name in self.lists:
            self._add_list(name, records, using)
        return records

    def _add_list(self, name: str, records: Mapping[str, Record], using: str) -> None:
        """Add a field of several values to these records."""
        if not records:
            return
        for record in records.values():
            record[name] = []
        for owner, value in self._lists[name].fetch(map(self.pk.to_python, records), using):
            record_of_owner = records.get(str(owner))
            if record_of_owner is not None:  # otherwise it was added after the query before
                record_of_owner[name].append(make_plain(value, self.kinds[name]))

    def _select_rows(self, pks: Keys) -> "models.QuerySet[Any, Any]":
        rows = all_rows(self.model).filter(self.where or models.Q(), pk__in=pks).order_by()
        if self.expressions:
            named = {self.aliases[name]: expression for name, expression in self.expressions.items()}
            rows = rows.annotate(**named)
        return rows.values_list("pk", *self.paths.values(), *self.aliases.values())

    def build_record(self, row: Record) -> Record:
        """Return the record of a row from ``load``."""
        if not self.is_hash:
            return row
        return {name: _make_text(value) for name, value in row.items()}

    def list_entries(self, pk: str, record: Mapping[str, Any]) -> list[Contribution]:
        """Return the entries of a row."""
        return [entry for index_row in self.index_rows for entry in index_row(pk, record)]

    def list_changes(
        self, pk: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> tuple[list[Contribution], list[Contribution]]:
        """Return a row's entries by two records, without those of indexes whose fields are equal in both."""
        old, new = list[Contribution](), list[Contribution]()
        for names, index_row in zip(self.index_fields, self.index_rows, strict=True):
            if names is None or any(before[name] != after[name] for name in names):
                old += index_row(pk, before)
                new += index_row(pk, after)
        return old, new

    def families(self) -> list[Family]:
        """Return the key families of the indexes."""
        made: dict[tuple[str, str, str], Family] = {}
        for index in self.indexes:
            for family in _make_families(index):
                made[family.start, family.end, family.kind] = family
        return list(made.values())

    def retired(self) -> list[str]:
        """Return the beginnings of the keys of earlier layouts with buckets."""
        divisible = [index for index in self.indexes if index.can_divide and index.buckets == 1]
        return [find_bucket_start(index.template.start) for index in divisible]


def _try_query(rows: "models.QuerySet[Any, Any]", using: str, is_executed: bool) -> None:
    """Raise the error of a query that cannot be compiled or executed."""
    if not is_executed:
        with suppress(EmptyResultSet, FullResultSet):  # a condition that no row or each row meets
            rows.query.get_compiler(using).as_sql()
        return
    with transaction.atomic(using=using):  # an error would also end a transaction around the check
        list(rows.using(using)[:1])


def _check_attributes(mirror: type[Mirror]) -> None:
    for name in ("fields", "indexes"):
        if not isinstance(getattr(mirror, name), (list, tuple)):
            raise DeclarationError(f"{name} must be a list")
    if len(mirror.model._meta.pk_fields) > 1:
        raise DeclarationError(
            f"the primary key of {mirror.model._meta.label} has several columns; declare an EdgeMirror that "
            "watches them, or give the model a primary key of one column"
        )
    if mirror.fields:
        require_plain_key(mirror.model)
    if not isinstance(mirror.key, str):
        raise DeclarationError(f"key is {mirror.key!r}, and has to be text")
    parse_template(mirror.key)
    if mirror.record_kind == "bitmap":
        raise DeclarationError("fields and indexes cannot make a bitmap; write load(), record() and index()")


def _make_fields(declared: Iterable[Any]) -> dict[str, AnyField]:
    """Return the fields by their names in the record."""
    fields: dict[str, AnyField] = {}
    for field in declared:
        made = Column(field) if isinstance(field, str) else field
        if not isinstance(made, FIELDS):
            raise DeclarationError(
                f"fields contains {field!r}; a field is a name, or made by Column, Names, Ids, Values, Count or Sum"
            )
        if made.record_name == "pk":
            raise DeclarationError('no field can be called "pk", which is the primary key in templates')
        if made.record_name in fields:
            raise DeclarationError(f"two fields are called {made.record_name!r}; give one of them another name=")
        fields[made.record_name] = made
    return fields


def _make_text(value: Any) -> str:
    """Return a value as a hash stores it: "0" and "1" for booleans, "" for None."""
    if value is None:
        return ""
    return str(int(value)) if isinstance(value, bool) else str(value)


def _make_families(index: Index) -> Iterator[Family]:
    """Yield the family of an index, and that of its divided form."""
    template = index.template
    is_whole = not template.names
    end = "" if is_whole else template.end
    yield Family(template.start, index.kind, index.find_owner, whole=is_whole, end=end)
    if index.buckets > 1:
        # With the text behind the hash tag. Divided structures with one tag would otherwise be one family.
        end = "}" + template.start.partition("}")[2] if is_whole else template.end
        yield Family(find_bucket_start(template.start), index.kind, index.find_owner, end=end)


def _can_share(one: Index, other: Index) -> bool:
    """Return whether two indexes may have one key: each entry says which row it is of, and has one score."""
    if type(one) is not type(other) or one.buckets != other.buckets:
        return False
    return all(getattr(one, name, None) == getattr(other, name, None) for name in ("score", "member"))


def _has_no_text(field: "models.Field[Any, Any]") -> bool:
    """Return whether values are JSON, dicts or search vectors, whose texts are not equal in SQL and in Python."""
    return isinstance(field, models.JSONField) or field.get_internal_type() in ("HStoreField", "SearchVectorField")


def _count_lists(field: Any) -> int:
    """Return the number of lists around each value of a column: 1 for an array."""
    return 1 + _count_lists(field.base_field) if is_array(field) else 0


def _describe(field: "models.Field[Any, Any]") -> str:
    if isinstance(field, models.JSONField):
        return "JSON"
    if field.get_internal_type() == "SearchVectorField":
        return "a search vector"
    return "a list of lists" if is_array(field) else "a dict or list"


def _is_plain(field: "models.Field[Any, Any]") -> bool:
    """Return whether all values of a column are valid in JSON."""
    return isinstance(field, PLAIN) and not hasattr(field, "from_db_value")
