"""Pages of rankings and of names, in Redis and, in the same order, in SQL."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from django.db import models
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce, Left

from mirror.declare.indexes import SEPARATOR
from mirror.declare.readers.scores import NOTHING, Bound, write_score
from mirror.declare.readers.structure import TEXT, SqlStructure, Structure
from mirror.declare.sql_rows import order_by_bytes
from mirror.redis.scripts import Script

if TYPE_CHECKING:
    from mirror.redis.types import RedisPipeline

PAGE_SCRIPT: Final = Script(Path(__file__).parent / "page.lua")
NAME: Final = "mirror_name"
LAST_BYTE: Final = b"\xff"  # no text in UTF-8 contains it


class Place(NamedTuple):
    """A member of a ranking. As a cursor it need not exist any more."""

    pk: Any
    score: float


class Name(NamedTuple):
    """A member of an ``Alphabetical`` index. As a cursor it need not exist any more."""

    text: str
    pk: Any


class PlaceRange(NamedTuple):
    """The requested part of a ranking: ``size`` places after ``after``, from ``low`` to ``high``."""

    size: int
    after: Place | None = None
    low: Bound = None
    high: Bound = None
    is_descending: bool = False
    start: int = 0

    def add_commands(self, pipe: "RedisPipeline", structure: Structure) -> None:
        """Add one command for each bucket."""
        end = self.start + self.size
        start, size = self.start, self.size
        if len(structure.keys) > 1:
            # The places to skip are known when the parts of all buckets are merged.
            start, size = 0, end
        low = write_bound(self.low, "-inf")
        high = write_bound(self.high, "+inf")
        after = self.after
        if after is not None and (after.score > float(high) if self.is_descending else after.score < float(low)):
            # The bounds begin behind it.
            after = None
        for name in structure.keys:
            if after is not None:
                # A script, because no command of Redis continues within equal scores.
                (member,) = structure.write_members([after.pk])
                score = repr(float(after.score))
                is_descending = int(self.is_descending)
                pipe.execute_command("EVAL", PAGE_SCRIPT.text, 1, name, score, member, end, is_descending)
            elif self.is_descending:
                pipe.zrevrangebyscore(name, high, low, start=start, num=size, withscores=True)
            else:
                pipe.zrangebyscore(name, low, high, start=start, num=size, withscores=True)

    def read(self, structure: Structure, replies: list[Any]) -> list[Place]:
        """Return the places in the replies."""
        low = float(write_bound(self.low, "-inf"))
        high = float(write_bound(self.high, "+inf"))
        pairs: list[tuple[float, bytes]] = []  # in this order they sort as Redis does
        for reply in replies:
            pairs += [(score, member) for member, score in _pair_up(reply) if low <= score <= high]
        is_divided = len(structure.keys) > 1
        if is_divided:
            pairs.sort(reverse=self.is_descending)
        # Otherwise the command has skipped the first places, unless it was the script.
        skipped = self.start if is_divided or self.after is not None else 0
        pairs = pairs[skipped : skipped + self.size]
        pks = structure.read_members([member for _, member in pairs])
        return [Place(pk, score) for pk, (score, _) in zip(pks, pairs, strict=True)]

    def read_sql(self, found: SqlStructure) -> list[Place]:
        """Return the same places from SQL."""
        rows = filter_scores(found, found.with_text(), self.low, self.high)
        beyond = "lt" if self.is_descending else "gt"
        if self.after is not None:
            score = float(self.after.score)
            # Redis orders equal scores by the bytes of the members.
            tie = found.equals(score) & _compare_text(TEXT, beyond, found.write_text(self.after.pk))
            rows = rows.filter(found.compare(beyond, score) | tie)
        ordered = _order_rows(rows, found.order_scores(), self.is_descending)
        pairs = found.list_scores(ordered[self.start : self.start + self.size])
        return [Place(pk, score) for pk, score in pairs]


def _pair_up(reply: Iterable[Any]) -> Iterator[tuple[bytes, float]]:
    """Yield members and scores of a reply: of pairs from redis-py, or of an alternating list from a script."""
    parts = list(reply)
    if parts and not isinstance(parts[0], (tuple, list)):
        parts = list(zip(parts[::2], parts[1::2], strict=True))
    for member, score in parts:
        yield member, float(score)


class NameRange(NamedTuple):
    """The requested part of an alphabetical index: ``size`` names with ``prefix`` after ``after``."""

    size: int
    prefix: str = ""
    after: Name | None = None
    is_descending: bool = False

    @property
    def limits(self) -> tuple[bytes, bytes]:
        """Return the lowest and the highest text in the form of Redis."""
        prefix = self.prefix.encode()
        low = b"[" + prefix
        high = b"(" + prefix + LAST_BYTE
        if self.after is None:
            return low, high
        place = b"(" + f"{self.after.text}{SEPARATOR}{self.after.pk}".encode()
        if self.is_descending:
            return low, min(place, high)
        # Two exclusive limits, which compare like the texts behind their first bytes
        return max(place, b"(" + prefix), high

    def add_commands(self, pipe: "RedisPipeline", structure: Structure) -> None:
        """Add the command."""
        low, high = self.limits
        if self.is_descending:
            pipe.zrevrangebylex(structure.key, high, low, start=0, num=self.size)
        else:
            pipe.zrangebylex(structure.key, low, high, start=0, num=self.size)

    def read(self, structure: Structure, members: list[bytes]) -> list[Name]:
        """Return the names in the reply."""
        texts = [member.decode().rpartition(SEPARATOR)[0] for member in members]
        return [Name(text, pk) for text, pk in zip(texts, structure.read_members(members), strict=True)]

    def read_sql(self, found: SqlStructure) -> list[Name]:
        """Return the same names from SQL."""
        text = Coalesce(order_by_bytes(found.text), Value(""), output_field=models.TextField())
        rows = found.with_text().annotate(**{NAME: text})
        if self.prefix:
            rows = rows.filter(self._match_prefix(found))
        if self.after is not None:
            rows = rows.filter(self._match_after(found, self.after))
        ordered = _order_rows(rows, F(NAME), self.is_descending)
        pairs = ordered.values_list(NAME, found.member)[: self.size]
        return [Name(text, pk) for text, pk in pairs]

    def _match_prefix(self, found: SqlStructure) -> Q:
        text, separator, key = self.prefix.partition(SEPARATOR)
        if separator:
            # The whole name, and the beginning of the primary key behind it
            return Q(**{NAME: text}) & _match_start(TEXT, found.write_text(key))
        return _match_start(NAME, text)

    def _match_after(self, found: SqlStructure, after: Name) -> Q:
        beyond = "lt" if self.is_descending else "gt"
        text, separator, rest = after.text.partition(SEPARATOR)
        key = f"{rest}{SEPARATOR}{after.pk}" if separator else found.write_text(after.pk)
        return Q(**{f"{NAME}__{beyond}": text}) | Q(**{NAME: text}) & _compare_text(TEXT, beyond, key)


def _match_start(column: str, start: str) -> Q:
    """Return the condition for texts that begin with ``start``."""
    if SEPARATOR in start:
        # PostgreSQL refuses a zero byte in a parameter. No text contains it.
        return NOTHING
    if start == "":
        return Q()
    beginning = Left(F(column), len(start))
    # Not startswith, which ignores case on SQLite
    return Q(models.lookups.Exact(beginning, Value(start)), **{f"{column}__gte": start})


def _compare_text(column: str, comparison: str, text: str) -> Q:
    """Return the condition for texts before or behind ``text``: lt or gt."""
    start, separator, _ = text.partition(SEPARATOR)
    if separator and comparison == "lt":
        # PostgreSQL refuses a zero byte in a parameter, and the text before it is lower.
        comparison = "lte"
    return Q(**{f"{column}__{comparison}": start})


def _order_rows(rows: "models.QuerySet[Any, Any]", first: Any, is_descending: bool) -> "models.QuerySet[Any, Any]":
    """Return rows in the order of an expression, and of equal values by the text of the member."""
    second = F(TEXT)
    if is_descending:
        return rows.order_by(first.desc(), second.desc())
    return rows.order_by(first.asc(), second.asc())


def write_bound(value: Bound, missing: str) -> str:
    """Return a bound of scores for Redis."""
    if value is None:
        return missing
    return repr(write_score(value))


def filter_scores(
    found: SqlStructure, rows: "models.QuerySet[Any, Any]", low: Bound, high: Bound
) -> "models.QuerySet[Any, Any]":
    """Return the rows with scores from ``low`` to ``high``."""
    for bound, comparison in ((low, "gte"), (high, "lte")):
        if bound is not None:
            rows = rows.filter(found.compare(comparison, write_score(bound)))
    return rows
