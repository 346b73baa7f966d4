"""The structure in Redis that a reader asks about, and its members in SQL."""

import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar

from django.db import connections, models
from django.utils import timezone

from mirror.conf import setting
from mirror.declare.buckets import list_bucket_keys
from mirror.declare.fields import make_plain
from mirror.declare.indexes import Alphabetical, Index, Ranking, SetOf, SqlMembers
from mirror.declare.paths import find_alias, find_value_field
from mirror.declare.questions import slot
from mirror.declare.readers.scores import build_order, build_score, compare, equals, write_score
from mirror.declare.sql_rows import FoundIndex, find_rows, order_by_bytes, parse_value

if TYPE_CHECKING:
    from mirror.declare.layout import Layout
    from mirror.declare.mirrors import Mirror
    from mirror.declare.readers.methods import Readers

MAX_CANDIDATES = 100  # ways to divide a key into values
MAX_NUMBER = 2**53  # of members: more than any structure has, and valid in SQL, in commands and in Lua
TEXT, SCORE, COMPARED = "mirror_text", "mirror_score", "mirror_compared"
S = TypeVar("S", bound=float)


def write_pk(pk: object) -> str:
    """Return the text of a primary key. Raises TypeError for a row, which has another text and would not be found."""
    if isinstance(pk, models.Model):
        raise TypeError(f"readers expect a primary key, not a row of {pk._meta.label}: pass its pk")
    return str(pk)


def read_number(number: SupportsIndex) -> int:
    """Return a number of members, at most ``MAX_NUMBER``. Raises TypeError for one that is no integer."""
    return min(int(operator.index(number)), MAX_NUMBER)


@dataclass(frozen=True)
class Structure:
    """A set, sorted set or string at ``key``. indexes: several if they have the same template."""

    mirror: "Mirror"
    layout: "Layout"
    key: str
    indexes: Sequence[FoundIndex]

    @property
    def index(self) -> Index:
        """Return the declared index."""
        return self.indexes[0].declared

    @cached_property
    def keys(self) -> list[str]:
        """Return the keys of all buckets."""
        return list_bucket_keys(self.key, self.index.buckets)

    def read_members(self, members: Iterable[bytes]) -> list[Any]:
        """Return primary keys as Django returns them, from members in Redis."""
        convert = self.layout.value_pk.to_python
        find_pk = self.index.find_pk
        return [convert(find_pk(self.key, member.decode())) for member in members]

    def write_members(self, pks: Iterable[Any]) -> list[str]:
        """Return the members that have these primary keys. Raises TypeError for an index with longer members."""
        if not isinstance(self.index, SetOf):
            # The members of a ranking are the primary keys.
            return list(map(write_pk, pks))
        template = self.index.member_template
        if template.names != ["pk"]:
            raise TypeError(f"{self.index!r}: its members are more than primary keys, so rows cannot be looked up")
        return [template.fill(write_pk(pk), None, {}) for pk in pks]

    def parse_pks(self, pks: Iterable[Any]) -> list[Any]:
        """Return the primary keys among ``pks`` that the column can hold."""
        # Redis would answer that other keys are no members. SQL would refuse them.
        parsed = [parse_value(self.layout.value_pk, str(pk)) for pk in pks]
        return [value for value in parsed if value is not None]

    def find_in_sql(self) -> "SqlStructure":
        """Return the members in SQL."""
        # Years and dates in conditions are those of UTC, as in ``Layout.load``.
        with timezone.override(UTC):
            if self.index.sql is not None:
                values = self.indexes[0].candidates[0]
                return SqlStructure(*self.index.sql(values))
            return SqlStructure(*self._derive_members())

    def _derive_members(self) -> SqlMembers:
        """Return the members in SQL, as they follow from the fields of the declaration."""
        rows = find_rows(self.layout, list(self.indexes))
        if isinstance(self.index, Ranking):
            return self._add_score(rows, self.index)
        if isinstance(self.index, Alphabetical):
            return SqlMembers(rows, text=self.layout.paths[self.index.by])
        return SqlMembers(rows)

    def _add_score(self, rows: "models.QuerySet[Any, Any]", index: Ranking) -> SqlMembers:
        name = index.score_field
        if name in self.layout.paths:
            return SqlMembers(rows, score=self.layout.paths[name])
        if name:
            alias = find_alias(self.layout.model, SCORE)
            return SqlMembers(rows.annotate(**{alias: self.layout.expressions[name]}), score=alias)
        score_of_all = models.Value(index.score, models.FloatField())
        return SqlMembers(rows.annotate(**{SCORE: score_of_all}), score=SCORE)


class SqlStructure:
    """The rows in SQL that are the members of a structure. member, score, text: names in the query."""

    def __init__(self, rows: "models.QuerySet[Any, Any]", member: str, score: str, text: str) -> None:
        self.member = member
        self.score = score
        self.text = text
        if score:
            # Rows without a score contribute nothing.
            rows = rows.exclude(**{f"{score}__isnull": True})
            expression = build_score(score, rows.query.chain().resolve_ref(score))
            if expression is not None:
                self.score = find_alias(rows.model, COMPARED)
                rows = rows.annotate(**{self.score: expression})
        self.rows = rows

    @cached_property
    def score_field(self) -> "models.Field[Any, Any]":
        """Return the field that determines the values of the score."""
        return self._find_field(self.score)

    def _find_field(self, name: str) -> "models.Field[Any, Any]":
        field: models.Field[Any, Any] = find_value_field(self.rows.query.chain().resolve_ref(name).output_field)
        return field

    def list_members(self, rows: "models.QuerySet[Any, Any] | None" = None) -> list[Any]:
        """Return the members of these rows, or of all."""
        if rows is None:
            rows = self.rows
        with timezone.override(UTC):
            return list(rows.values_list(self.member, flat=True))

    def filter_members(self, members: Sequence[Any]) -> "models.QuerySet[Any, Any]":
        """Return the rows of these members."""
        return self.rows.filter(**{f"{self.member}__in": members})

    def list_scores(self, rows: "models.QuerySet[Any, Any]") -> list[tuple[Any, float]]:
        """Return the members of these rows with their scores, in the form of Redis."""
        with timezone.override(UTC):
            found = list(rows.values_list(self.member, self.score))
        return [(member, write_score(make_plain(score, self.score_field))) for member, score in found]

    def find_scores(self, members: Sequence[Any]) -> dict[str, float]:
        """Return the scores of these members by their text. A collation may add members with equal texts."""
        return {str(member): score for member, score in self.list_scores(self.filter_members(members))}

    def compare(self, comparison: str, score: float) -> models.Q:
        """Return the condition for rows with a score in this relation to ``score``: lt, lte, gt or gte."""
        return compare(self.score, self.score_field, comparison, score)

    def equals(self, *scores: float) -> models.Q:
        """Return the condition for rows with exactly one of these scores."""
        return equals(self.score, self.score_field, scores)

    def order_scores(self) -> Any:
        """Return an expression that orders rows by their scores."""
        return build_order(self.score, self.score_field)

    def count_above(self, score: float) -> int:
        """Return the number of members with a higher score."""
        return self.rows.filter(self.compare("gt", score)).count()

    def count_scores(self, scores: Sequence[S]) -> dict[S, int]:
        """Return the numbers of members with exactly these scores, by score."""
        rows = self.rows.filter(self.equals(*map(float, scores))).order_by()
        counts: Counter[float] = Counter()
        # Several values of the column may have one score.
        for value, count in rows.values_list(self.score).annotate(models.Count(self.member)):
            counts[write_score(make_plain(value, self.score_field))] += count
        return {score: counts[float(score)] for score in scores}

    def with_text(self) -> "models.QuerySet[Any, Any]":
        """Return the rows with ``TEXT``, their member as Redis compares it."""
        return self.rows.annotate(**{TEXT: order_by_bytes(self.member)})

    def write_text(self, pk: Any) -> str:
        """Return the text of a primary key in the form of ``TEXT``."""
        field = self._find_field(self.member)
        has_dashes = connections[setting("DATABASE")].features.has_native_uuid_field
        if isinstance(field, models.UUIDField) and not has_dashes:
            # The dashes are at equal places in all keys, so texts without them have the same order.
            return str(pk).replace("-", "")
        return str(pk)


def find_structure(declaration: "type[Readers[Any]]", key: str, *kinds: type[Index]) -> Structure:
    """Return the structure at ``key``.

    Raises LookupError, which lists the templates, if there is none of these kinds, or if the key can be divided into
    values in more than ``MAX_CANDIDATES`` ways, and TypeError for an index that SQL cannot answer.
    """
    mirror = slot.engine.get_mirror(declaration)
    layout = mirror.layout
    indexes: list[Index] = []
    if layout:
        indexes = [index for index in layout.indexes if isinstance(index, kinds)]
    # Several indexes may share a structure, if their keys are templates of one form.
    found = _match_indexes(indexes, key)
    if not layout or not found:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise LookupError(
            f"{declaration.__qualname__} has no {names} at {key!r} ({_explain_key(layout, indexes, key)})"
        )
    for index, _ in found:
        _require_sql(layout, index)
    return Structure(mirror, layout, key, found)


def _explain_key(layout: "Layout | None", indexes: Iterable[Index], key: str) -> str:
    """Return which index has a key instead, or else the keys of ``indexes``."""
    for other in layout.indexes if layout else ():
        if other.template.match(key) is not None:
            return f"{other.key!r} is a {type(other).__name__}"
    known = ", ".join(dict.fromkeys(repr(index.key) for index in indexes))
    return f"its keys are: {known or 'none'}"


def _require_sql(layout: "Layout", index: Index) -> None:
    """Refuse an index whose readers would fail without Redis. A system check reports it as well."""
    if index.sql is None and not layout.can_derive(index):
        raise TypeError(f"{index!r}: SQL cannot answer for it without fields, or with a function as when=; give sql=")


def _match_indexes(indexes: Iterable[Index], key: str) -> list[FoundIndex]:
    """Return the indexes with a structure at a key."""
    found: list[FoundIndex] = []
    for index in indexes:
        matches = index.template.find_matches(key)
        # One more than the limit shows that there are too many, without a count of all.
        candidates = list(islice(matches, MAX_CANDIDATES + 1))
        if len(candidates) > MAX_CANDIDATES:
            raise LookupError(f"{key!r} fits {index.key!r} in more than {MAX_CANDIDATES} ways")
        if candidates:
            found.append(FoundIndex(index, candidates))
    return found
