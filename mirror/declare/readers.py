"""Readers of a declaration: records, members and rankings from Redis, or from SQL if Redis cannot answer.

Each of them needs one round trip. The asynchronous twins run in a thread, as those of Django's queries do.
"""

from collections.abc import Iterable
from datetime import UTC
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from asgiref.sync import sync_to_async
from django.db import models
from django.utils import timezone

from mirror.declare.buckets import list_bucket_keys, merge_top
from mirror.declare.indexes import Index, Lookup, Ranking, SetOf
from mirror.declare.paths import find_alias
from mirror.declare.sql_rows import FoundIndex, find_rows, order_by_bytes

if TYPE_CHECKING:
    from mirror.declare.layout import Layout
    from mirror.declare.mirrors import Mirror
    from mirror.redis.types import RedisPipeline

T = TypeVar("T")
MAX_CANDIDATES = 100  # ways to divide a key into values


class Readers:
    """The readers, as class methods of every declaration with records."""

    name: ClassVar[str]

    @classmethod
    def get(cls, pk: object) -> dict[str, Any] | None:
        """Return the record of a row as a dict by field, or None if the row does not exist or is left out.

        One round trip; without Redis, SQL answers. Raises TypeError for a mirror without records, and for a quarantined
        row the error because of which it has no record.
        """
        return cls.get_many([pk]).get(pk)

    @classmethod
    def get_many(cls, pks: Iterable[T]) -> dict[T, dict[str, Any]]:
        """Return a dict of records by primary key, in the given order, without rows that have none.

        One round trip for any number of rows. The keys are those that were given, also if they are text.
        """
        from mirror.kinds import kind_of as shape_of
        from mirror.read.reads import read

        mirror, wanted = _find(cls), {str(pk): pk for pk in pks}
        if not wanted:
            return {}
        shape, texts = shape_of(mirror), list(wanted)
        found = read([mirror.name], lambda pipe: [pipe.execute_command(*command) for command in shape.ask(texts)])
        if found is None:
            targets = shape.targets([pk for pk in texts if mirror.is_possible(pk)])
            states = [targets[pk].own if pk in targets else None for pk in texts]
        else:
            states = shape.said(texts, found.replies)
        records = {wanted[pk]: shape.decode(state) for pk, state in zip(texts, states, strict=True)}
        return {pk: record for pk, record in records.items() if record is not None}

    @classmethod
    def top(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Return a list of the ``count`` primary keys with the highest scores in the ``Ranking`` at ``key``.

        The highest come first, and ``start`` of them are skipped. key: with its values, like ``"books:de"`` for the
        template ``"books:{value}"``. Raises LookupError if no ranking has such a key, TypeError for one that SQL cannot
        answer, and ValueError for a ``start`` below zero.
        """
        from mirror.read.reads import read

        if start < 0:
            raise ValueError(f"start is {start}, and has to be at least 0")

        mirror, layout, indexes = _find_indexes(cls, key, Ranking)
        index = indexes[0].declared
        names, last = list_bucket_keys(key, index.buckets), start + count - 1

        def ask(pipe: "RedisPipeline") -> None:
            if len(names) == 1:
                pipe.zrevrange(key, start, last)
            for name in names if len(names) > 1 else ():
                pipe.zrevrange(name, 0, last, withscores=True)

        found = read([mirror.name], ask) if count > 0 else None
        if found is not None:
            members = found.replies[0] if len(names) == 1 else merge_top(found.replies)[start : last + 1]
            return _read_pks(layout, index, key, members)
        score = getattr(index, "score", "")
        rows = find_rows(layout, indexes)
        order: list[Any] = []
        if score in layout.expressions:
            alias = find_alias(layout.model, "mirror_score")
            rows = rows.annotate(**{alias: layout.expressions[score]})
            order = [models.F(alias).desc()]
        elif isinstance(score, str):
            order = [models.F(layout.paths[score]).desc()]
            rows = rows.filter(**{f"{layout.paths[score]}__isnull": False})
        ordered = rows.order_by(*order, order_by_bytes("pk").desc()).values_list("pk", flat=True)
        with timezone.override(UTC):  # as in ``Layout.load``
            return list(ordered[start : start + max(count, 0)])

    @classmethod
    def members(cls, key: str) -> set[Any]:
        """Return the set of all primary keys in the ``SetOf`` at ``key``, or an empty set. Raises like ``top``."""
        from mirror.read.reads import read

        mirror, layout, indexes = _find_indexes(cls, key, SetOf)
        index = indexes[0].declared
        names = list_bucket_keys(key, index.buckets)
        found = read([mirror.name], lambda pipe: [pipe.smembers(name) for name in names])
        if found is not None:
            return set(_read_pks(layout, index, key, chain.from_iterable(found.replies)))
        with timezone.override(UTC):
            return set(find_rows(layout, indexes).values_list("pk", flat=True))

    @classmethod
    def find(cls, key: str) -> Any:
        """Return the primary key in the ``Lookup`` at ``key``, or None without such a row. Raises like ``top``."""
        from mirror.read.reads import read

        mirror, layout, indexes = _find_indexes(cls, key, Lookup)
        found = read([mirror.name], lambda pipe: pipe.get(key))
        if found is not None:
            return None if found.replies[0] is None else _read_pks(layout, indexes[0].declared, key, found.replies)[0]
        with timezone.override(UTC):
            return find_rows(layout, indexes).values_list("pk", flat=True).first()

    @classmethod
    async def aget(cls, pk: object) -> dict[str, Any] | None:
        """Do the same as ``get``, asynchronously."""
        return await sync_to_async(cls.get)(pk)

    @classmethod
    async def aget_many(cls, pks: Iterable[T]) -> dict[T, dict[str, Any]]:
        """Do the same as ``get_many``, asynchronously."""
        return await sync_to_async(cls.get_many)(pks)

    @classmethod
    async def atop(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Do the same as ``top``, asynchronously."""
        return await sync_to_async(cls.top)(key, count, start)

    @classmethod
    async def amembers(cls, key: str) -> set[Any]:
        """Do the same as ``members``, asynchronously."""
        return await sync_to_async(cls.members)(key)

    @classmethod
    async def afind(cls, key: str) -> Any:
        """Do the same as ``find``, asynchronously."""
        return await sync_to_async(cls.find)(key)


def _find(declaration: type[Readers]) -> "Mirror":
    """Return the registered mirror. Raises LookupError if it is not registered, and TypeError if it has no records."""
    from mirror import registry

    if not registry.is_registered(declaration):
        raise registry.UnknownMirror(f"{declaration.__qualname__} is not registered: decorate it with @mirror.register")
    mirror = registry.get(declaration.name)
    if not mirror.has_record:
        raise TypeError(f"{declaration.__qualname__} has no records to read")
    return mirror


def _find_indexes(declaration: type[Readers], key: str, kind: type[Index]) -> "tuple[Mirror, Layout, list[FoundIndex]]":
    """Return the indexes with a structure at ``key``: several if they have the same template.

    Raises LookupError, which lists the templates, if there is none, or if the key can be divided into values in more
    than ``MAX_CANDIDATES`` ways, and TypeError for an index that SQL cannot answer.
    """
    mirror = _find(declaration)
    layout, found = mirror.layout, list[FoundIndex]()
    indexes = [index for index in layout.indexes if isinstance(index, kind)] if layout else []
    for index in indexes:
        candidates = list(islice(index.template.find_matches(key), MAX_CANDIDATES + 1))
        if len(candidates) > MAX_CANDIDATES:
            raise LookupError(f"{key!r} fits {index.key!r} in more than {MAX_CANDIDATES} ways")
        if candidates:
            found.append(FoundIndex(index, candidates))
    if not layout or not found:
        known = ", ".join(repr(index.key) for index in indexes) or "none"
        raise LookupError(f"{declaration.__qualname__} has no {kind.__name__} at {key!r} (its keys are: {known})")
    for index, _ in found:
        if callable(index.when) or not layout.fields:
            raise TypeError(f"{index!r}: SQL cannot answer for it without fields, or with a function as when=")
    return mirror, layout, found


def _read_pks(layout: "Layout", index: Index, key: str, members: Iterable[bytes]) -> list[Any]:
    """Return primary keys as Django returns them, from members in Redis."""
    pk = layout.pk
    while isinstance(pk, models.ForeignKey):
        pk = pk.target_field
    return [pk.to_python(index.find_owner(key, member.decode())) for member in members]
