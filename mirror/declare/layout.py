"""Layouts: from the fields and indexes of a declaration to watches, rows, records, entries and key families.

A serializer could not be the source of these, because it does not say from which columns a value came. Computed values
need methods: a language of expressions would be longer than these methods.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from functools import cached_property, partial
from typing import Any

from django.conf import settings
from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db import models, transaction
from django.utils import timezone

from mirror.conf import database
from mirror.declare.buckets import find_bucket_start
from mirror.declare.conditions import resolve_condition
from mirror.declare.entries import Contribution
from mirror.declare.fields import Column, Count, Sum, Values, is_array, is_converted, is_stored_otherwise, make_plain
from mirror.declare.indexes import Alphabetical, Index, parse_template
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
)
from mirror.declare.watches import Family
from mirror.utils.queries import KeyedQuery, Keys, Query, Row, fetch_all
from mirror.utils.rows import all_rows

Record = dict[str, Any]
# Fields with values that JSON has. Other values are converted one by one, which every row of a rebuild would pay for.
PLAIN = (models.IntegerField, models.CharField, models.TextField, models.BooleanField)
AnyField = Column | Values | Count | Sum
FIELDS = (Column, Values, Count, Sum)
IndexRow = Callable[[str, Mapping[str, Any]], Iterable[Contribution]]
NUMBERS_AND_TIMES = (models.IntegerField, models.FloatField, models.DecimalField, models.DateField, models.BooleanField)
# Fields with values that have other texts in SQL than in Python
UNLIKE_TEXTS = (
    models.BooleanField,
    models.DateTimeField,
    models.DecimalField,
    models.DurationField,
    models.FloatField,
    models.GenericIPAddressField,
    models.TimeField,
    models.UUIDField,
)


class Layout:
    """The derived parts of one declaration. Raises DeclarationError for a name that the model does not have.

    version: a digest of everything that determines records and entries, with the types of the columns.
    """

    def __init__(self, mirror: type[Mirror]) -> None:
        _check_attributes(mirror)
        self.model = mirror.model
        self.where = mirror.where
        self.indexes = tuple(mirror.indexes)
        self.pk = get_primary(self.model)
        self.key = mirror.key
        self.is_hash = mirror.record_kind == "hash"
        # A method computes the entries; the indexes then only describe them to readers.
        self.is_computed = mirror.index is not Mirror.index or not mirror.has_record
        self.fields = _make_fields(mirror.fields)
        # First, because it explains wrong names and conditions
        uses = self._find_uses()
        self.kinds = {name: field.find_column(self.model) for name, field in self.fields.items()}
        self._sort_fields()
        if self.is_hash:
            self._check_hash()
        self._check_indexes()
        self._compile_indexes()
        uses += resolve_condition(self.model, self.where)
        self.watches = build_watches(self.model, uses)
        self.version = self._compute_version()
        self._rows = KeyedQuery(self.pk, self._select_rows)
        self._lists: dict[str, KeyedQuery] = {}
        for name, field in self.lists.items():
            self._lists[name] = KeyedQuery(self.pk, partial(field.select, self.model))

    def _compile_indexes(self) -> None:
        """Prepare the functions that compute entries, and for each the fields of the record that it uses."""
        self.index_rows: list[IndexRow] = []
        self.index_fields: list[list[str] | None] = []
        if self.is_computed:
            return
        for index in self.indexes:
            self.index_rows.append(index.compile())
            # None: a function of the record, which may use any field.
            used = None if callable(index.when) else sorted(index.find_fields())
            self.index_fields.append(used)

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
        # Each field of a hash has one text.
        for name in self.lists:
            raise DeclarationError(f"a hash cannot contain the list {name!r}")
        for name, kind in self.kinds.items():
            if is_array(kind):
                raise DeclarationError(f"a hash cannot contain the array {name!r}")
            if _is_json(kind):
                raise DeclarationError(f"a hash cannot contain the JSON of {name!r}, because its values are texts")

    @cached_property
    def value_pk(self) -> "models.Field[Any, Any]":
        """Return the field that determines the values of the primary key."""
        field: models.Field[Any, Any] = find_value_field(self.pk)
        return field

    def can_derive(self, index: Index) -> bool:
        """Return whether the members of an index in SQL follow from the declaration."""
        if self.is_computed or callable(index.when):
            return False
        return bool(self.fields)

    def _check_indexes(self) -> None:
        known: dict[str, Index] = {}
        for index in self.indexes:
            if not isinstance(index, Index):
                raise DeclarationError(f"indexes contains {index!r}, which is no index")
            index.check_types()
            if self.is_computed:
                if index.sql is None:
                    raise DeclarationError(f"{index!r}: a method computes its entries; give sql= for its readers")
                continue
            other = known.setdefault(index.key, index)
            if other.form != index.form:
                raise DeclarationError(f"{index!r} has the key of {other!r}; give each a key of its own")
            self._check_index(index)

    def _check_index(self, index: Index) -> None:
        index.check()
        if self.is_hash and index.when_field:
            raise DeclarationError(f'{index!r}: a hash has only text, and "0" is true; use a function as when=')
        # Without fields, record() is a method, and nobody knows the names in its result.
        if self.fields:
            for name in sorted(index.find_fields() - self.fields.keys()):
                raise DeclarationError(f"{index!r} needs the field {name!r}, which fields does not contain")
        self._check_texts(index)
        self._check_score(index)
        self._check_names(index)

    def _check_score(self, index: Index) -> None:
        name = index.score_field
        if name not in self.kinds:
            return
        kind = self.kinds[name]
        if name in self.lists or not isinstance(kind, NUMBERS_AND_TIMES):
            raise DeclarationError(f"{index!r}: {name!r} is neither a number nor a date nor a time with a date")
        if is_stored_otherwise(kind):
            raise DeclarationError(
                f"{index!r}: SQL cannot order by {name!r}, whose values {type(kind).__name__} converts; write index(), "
                "or name another column"
            )
        if self.is_hash and name in self.paths and is_nullable(self.model, self.paths[name]):
            raise DeclarationError(f"{index!r}: in a hash, a missing {name!r} is an empty text and no number")

    def _check_names(self, index: Index) -> None:
        if not isinstance(index, Alphabetical) or index.sql is not None or index.by not in self.kinds:
            return
        if isinstance(self.kinds[index.by], UNLIKE_TEXTS) or index.by in self.expressions:
            raise DeclarationError(f"{index!r}: SQL cannot order by the text of {index.by!r}; name a column of text")

    def _check_texts(self, index: Index) -> None:
        """Refuse fields whose values have no text that SQL could look up, as a part of a key or as ``when``."""
        in_keys = index.key_fields
        in_members = index.find_fields() - {index.score_field}
        for name in sorted(self.fields.keys() & (in_keys | in_members)):
            is_list = self._check_text(index, name)
            if name in in_keys:
                self._check_lookup(index, name, is_list)
            elif is_list:
                raise DeclarationError(f"{index!r}: {name!r} is a list, and its text is no part of a member")

    def _check_text(self, index: Index, name: str) -> bool:
        """Refuse a field whose values have no text. Return whether it has a list of texts."""
        kind = self.kinds[name]
        depth = _count_lists(kind)
        if name in self.lists:
            depth += 1
        if _has_no_text(kind) or depth > 1:
            raise DeclarationError(
                f"{index!r}: {name!r} is {_describe_kind(kind)}, and its text is no part of a key or member; name a "
                "column or relation"
            )
        return depth == 1

    def _check_lookup(self, index: Index, name: str, is_list: bool) -> None:
        """Refuse a field by whose text, as a part of a key, SQL finds no rows."""
        kind = self.kinds[name]
        if is_converted(kind):
            raise DeclarationError(
                f"{index!r}: SQL cannot look up {name!r}, whose values {type(kind).__name__} converts; write index(), "
                "or name another column"
            )
        if is_list and name in index.placeholder_fields:
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

    def _compute_version(self) -> str:
        parts: list[Any] = [self.model._meta.label, self.key, self.where, self.is_hash]
        parts += self.fields.items()
        for path in self.paths.values():
            parts.append(resolve_column(self.model, path).field.get_internal_type())
        for name in self.expressions:
            kind = self.kinds[name]
            if isinstance(kind, models.DecimalField):
                parts.append(f"sum with {kind.decimal_places} places")
        if not settings.USE_TZ and any(isinstance(kind, models.DateTimeField) for kind in self.kinds.values()):
            # Records have the times of the site's time zone, without an offset.
            parts.append(f"times of {settings.TIME_ZONE}")
        # Sites have stored this digest. Another text, even of equal meaning, would rebuild all their mirrors.
        described = [repr(part) for part in parts]
        described += [index.describe() for index in self.indexes]
        return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]

    def load(self, pks: Sequence[str]) -> Mapping[str, Record]:
        """Return the records of the existing rows that meet the condition, in one query and one more for each list."""
        using = database()
        return self.build_rows(fetch_all(self.write_queries(pks, using), using), using)

    def write_queries(self, pks: Sequence[str], using: str) -> list[Query]:
        """Return the queries for ``build_rows``: one for the rows and one more for each list."""
        # A key in Redis may be a stray that no row can have, and whose text the column would refuse.
        possible = [self.pk.to_python(pk) for pk in dict.fromkeys(pks) if can_hold(self.pk, pk)]
        # Years and dates in conditions are those of UTC, in each process and under each visitor's time zone.
        with timezone.override(UTC):
            values = self._rows.prepare(possible, using)
            return [query.write(values, using) for query in (self._rows, *self._lists.values())]

    def build_rows(self, results: Sequence[Sequence[Row]], using: str) -> Mapping[str, Record]:
        """Return the records by the results of ``write_queries``."""
        found, *lists = results
        # In the order in which ``_select_rows`` selects their values
        names = [*self.paths, *self.expressions]
        with timezone.override(UTC):
            rows = self._rows.convert(found, using)
            records = {str(pk): dict(zip(names, values, strict=False)) for pk, *values in rows}
            for name in names:
                if name not in self.plain:
                    self._convert_field(name, records)
            for name, links in zip(self.lists, lists, strict=True):
                self._add_list(name, records, self._lists[name].convert(links, using))
        return records

    def _convert_field(self, name: str, records: Mapping[str, Record]) -> None:
        """Give a field of these records the form that it has in JSON."""
        kind = self.kinds[name]
        for record in records.values():
            record[name] = make_plain(record[name], kind)

    def _add_list(self, name: str, records: Mapping[str, Record], links: Iterable[Row]) -> None:
        """Add a field of several values to these records. links: owners with their values."""
        kind = self.kinds[name]
        for record in records.values():
            record[name] = []
        for owner, value in links:
            record_of_owner = records.get(str(owner))
            # A row that does not meet the condition, or that was added after the query before, has no record.
            if record_of_owner is not None:
                record_of_owner[name].append(make_plain(value, kind))

    def _select_rows(self, pks: Keys) -> "models.QuerySet[Any, Any]":
        rows = all_rows(self.model).filter(self.where or models.Q(), pk__in=pks).order_by()
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
        entries: list[Contribution] = []
        for index_row in self.index_rows:
            entries += index_row(pk, record)
        return entries

    def list_changes(
        self, pk: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> tuple[list[Contribution], list[Contribution]]:
        """Return a row's entries by two records, without those of indexes whose fields are equal in both."""
        old: list[Contribution] = []
        new: list[Contribution] = []
        # Most updates change few fields, so that most indexes need no entries.
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
        # An index that still has buckets owns these keys, whatever their number was.
        undivided = [index.template.start for index in self.indexes if index.can_divide and index.buckets == 1]
        return list(map(find_bucket_start, undivided))


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
        _check_parts(made)
        name = made.record_name
        if name == "pk":
            raise DeclarationError('no field can be called "pk", which is the primary key in templates')
        if name in fields:
            raise DeclarationError(f"two fields are called {name!r}; give one of them another name=")
        fields[name] = made
    return fields


def _check_parts(field: AnyField) -> None:
    """Refuse a field with a part that is no text, which would be an error in any other place."""
    parts: dict[str, object] = vars(field)
    for name in sorted(parts.keys() & {"path", "relation", "field", "name"}):
        if not isinstance(parts[name], str):
            raise DeclarationError(f"{field!r}: {name} is {parts[name]!r}, and has to be text")


def _make_text(value: Any) -> str:
    """Return a value as a hash stores it: "0" and "1" for booleans, "" for None."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return str(value)


def _make_families(index: Index) -> Iterator[Family]:
    """Yield the family of an index, and that of its divided form."""
    start, end = index.template.start, index.template.end
    is_whole = not index.template.names
    yield Family(start, index.kind, index.find_owner, whole=is_whole, end=end)
    if index.buckets == 1:
        return
    if is_whole:
        # With the text behind the hash tag. Divided structures with one tag would otherwise be one family.
        end = "}" + start.partition("}")[2]
    yield Family(find_bucket_start(start), index.kind, index.find_owner, end=end)


def _has_no_text(field: "models.Field[Any, Any]") -> bool:
    """Return whether values are JSON, dicts or search vectors, whose texts are not equal in SQL and in Python."""
    return _is_json(field) or field.get_internal_type() == "SearchVectorField"


def _is_json(field: "models.Field[Any, Any]") -> bool:
    """Return whether values are JSON or dicts of PostgreSQL's hstore."""
    return isinstance(field, models.JSONField) or field.get_internal_type() == "HStoreField"


def _count_lists(field: Any) -> int:
    """Return the number of lists around each value of a column: 1 for an array."""
    count = 0
    while is_array(field):
        count += 1
        field = field.base_field
    return count


def _describe_kind(field: "models.Field[Any, Any]") -> str:
    if isinstance(field, models.JSONField):
        return "JSON"
    if field.get_internal_type() == "SearchVectorField":
        return "a search vector"
    if is_array(field):
        return "a list of lists"
    return "a dict or list"


def _is_plain(field: "models.Field[Any, Any]") -> bool:
    """Return whether all values of a column are valid in JSON."""
    return isinstance(field, PLAIN) and not hasattr(field, "from_db_value")
