"""The readers, as class methods of every declaration."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from asgiref.sync import sync_to_async

from mirror.declare.indexes import Alphabetical, Lookup, Ranking, SetOf
from mirror.declare.questions import Question, answer, slot
from mirror.declare.readers.places import (
    Bound,
    Name,
    NameRange,
    Place,
    PlaceRange,
    filter_scores,
    write_bound,
)
from mirror.declare.readers.structure import Structure, find_structure

if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault

    from mirror.redis.types import RedisPipeline

    R = TypeVarWithDefault("R", default=dict[str, Any])  # a record, as readers return it
else:
    R = TypeVar("R")
K = TypeVar("K")
S = TypeVar("S", bound=float)
# Returns the number of members of KEYS[1] with higher scores than ARGV[1], or nothing without that member.
RANK_SCRIPT: Final = """
local score = redis.call('ZSCORE', KEYS[1], ARGV[1])
return score and redis.call('ZCOUNT', KEYS[1], '(' .. score, '+inf')
"""
T = TypeVar("T")


class Readers(Generic[R]):
    """The readers. Each makes one round trip; without Redis, SQL answers.

    key: that of a structure, with its values, like ``"books:de"`` for the template ``"books:{value}"``. Readers of a
    structure raise LookupError if the declaration has none at this key, and TypeError for an index without an answer
    in SQL (``sql=``). Members are primary keys of the model.
    """

    name: ClassVar[str]
    # Makes of a record what readers return: of the JSON in bytes, or of a hash's dict of texts. Default: a dict.
    record_class: ClassVar[type[Any] | None] = None

    # --- records ---

    @classmethod
    def get(cls, pk: object) -> R | None:
        """Return the record of a row, or None if the row does not exist or is left out.

        Raises TypeError for a mirror without records, and for a quarantined row the error because of which it has no
        record.
        """
        return cls.get_many([pk]).get(pk)

    @classmethod
    def get_many(cls, pks: Iterable[K]) -> dict[K, R]:
        """Return a dict of records by primary key, in the given order, without rows that have none.

        The keys are those that were given, also if they are text.
        """
        mirror, wanted = slot.engine.get_mirror(cls), {str(pk): pk for pk in pks}
        if not mirror.has_record:
            raise TypeError(f"{cls.__qualname__} has no records to read")
        found = answer(slot.engine.ask_for_records(mirror, list(wanted))) if wanted else {}
        return {wanted[pk]: record for pk, record in found.items()}

    # --- sets ---

    @classmethod
    def members(cls, key: str, limit: int | None = None) -> set[Any]:
        """Return the members of the ``SetOf`` at ``key``: all of them, or any ``limit`` of them."""
        structure = find_structure(cls, key, SetOf)

        def ask(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                pipe.smembers(name) if limit is None else pipe.srandmember(name, limit)

        def decode(replies: list[Any]) -> set[Any]:
            return set(structure.read_members(list(chain.from_iterable(replies))[:limit]))

        def load() -> set[Any]:
            found = structure.find_in_sql()
            return set(found.list_members(found.rows[:limit]))

        return _answer(structure, ask, decode, load)

    @classmethod
    def filter_members(cls, key: str, pks: Collection[K]) -> set[K]:
        """Return those of ``pks`` that are members of the ``SetOf`` or ``Ranking`` at ``key``."""
        structure = find_structure(cls, key, SetOf, Ranking)
        asked = list(dict.fromkeys(pks))
        if not asked:
            return set()
        members = structure.write_members(asked)

        def ask(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                pipe.smismember(name, members) if structure.index.kind == "set" else pipe.zmscore(name, members)

        def decode(replies: list[Any]) -> set[K]:
            missing = (None, 0) if structure.index.kind == "set" else (None,)
            is_in = [any(found not in missing for found in of_buckets) for of_buckets in zip(*replies, strict=True)]
            return {pk for pk, is_member in zip(asked, is_in, strict=True) if is_member}

        def load() -> set[K]:
            found = structure.find_in_sql()
            present = set(map(str, found.list_members(found.filter_members(structure.parse_pks(asked)))))
            return {pk for pk in asked if str(pk) in present}

        return _answer(structure, ask, decode, load)

    @classmethod
    def intersection(cls, key: str, *others: str) -> set[Any]:
        """Return the members of all these sets."""
        return cls._combine("sinter", (key, *others), lambda one, other: one & other)

    @classmethod
    def union(cls, key: str, *others: str) -> set[Any]:
        """Return the members of any of these sets."""
        return cls._combine("sunion", (key, *others), lambda one, other: one | other)

    @classmethod
    def difference(cls, key: str, *others: str) -> set[Any]:
        """Return the members of the set at ``key`` that none of the others has."""
        return cls._combine("sdiff", (key, *others), lambda one, other: one - other)

    # --- rankings ---

    @classmethod
    def top(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Return the ``count`` members of the ``Ranking`` at ``key`` with the highest scores, the highest first.

        ``start`` of them are skipped. Raises ValueError for a ``start`` below zero.
        """
        return [place.pk for place in cls._find_places(key, PlaceRange(count, is_descending=True, start=start))]

    @classmethod
    def bottom(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Return the ``count`` members with the lowest scores, the lowest first, in the same way as ``top``."""
        return [place.pk for place in cls._find_places(key, PlaceRange(count, start=start))]

    @classmethod
    def page(
        cls,
        key: str,
        count: int,
        *,
        after: Place | None = None,
        low: Bound = None,
        high: Bound = None,
        descending: bool = False,
    ) -> list[Place]:
        """Return the next ``count`` places of a ``Ranking``: by score, equal scores by the text of the member.

        after: the last place of the page before. low, high: numbers, dates or times, both inclusive.
        """
        return cls._find_places(key, PlaceRange(count, after, low, high, descending))

    @classmethod
    def count(cls, key: str, low: Bound = None, high: Bound = None) -> int:
        """Return the number of members of a ``SetOf``, ``Ranking`` or ``Alphabetical`` index.

        low, high: of the scores in a ``Ranking``, both inclusive.
        """
        has_bounds = low is not None or high is not None
        structure = find_structure(cls, key, *([Ranking] if has_bounds else [SetOf, Ranking, Alphabetical]))

        def ask(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                if has_bounds:
                    pipe.zcount(name, write_bound(low, "-inf"), write_bound(high, "+inf"))
                else:
                    pipe.scard(name) if structure.index.kind == "set" else pipe.zcard(name)

        def load() -> int:
            found = structure.find_in_sql()
            return filter_scores(found, found.rows, low, high).count()

        return _answer(structure, ask, lambda replies: int(sum(replies)), load)

    @classmethod
    def counts(cls, key: str, scores: Iterable[S]) -> dict[S, int]:
        """Return the numbers of members of a ``Ranking`` with exactly these scores, by score."""
        structure, asked = find_structure(cls, key, Ranking), list(dict.fromkeys(scores))
        if not asked:
            return {}

        def ask(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                for score in asked:
                    pipe.zcount(name, repr(float(score)), repr(float(score)))

        def decode(replies: list[Any]) -> dict[S, int]:
            return {score: sum(replies[number :: len(asked)]) for number, score in enumerate(asked)}

        return _answer(structure, ask, decode, lambda: structure.find_in_sql().count_scores(asked))

    @classmethod
    def rank(cls, key: str, pk: object) -> int | None:
        """Return 1 plus the number of members with higher scores, or None for no member.

        With buckets it takes two round trips.
        """
        structure = find_structure(cls, key, Ranking)
        if len(structure.keys) > 1:
            score = cls.score(key, pk)
            return None if score is None else cls._count_above(structure, score) + 1
        (member,) = structure.write_members([pk])

        def decode(replies: list[Any]) -> int | None:
            return None if replies[0] is None else int(replies[0]) + 1

        def load() -> int | None:
            found = structure.find_in_sql()
            own = found.list_scores(found.filter_members(structure.parse_pks([pk])))
            return found.count_above(own[0][1]) + 1 if own else None

        return _answer(structure, lambda pipe: pipe.execute_command("EVAL", RANK_SCRIPT, 1, key, member), decode, load)

    @classmethod
    def score(cls, key: str, pk: object) -> float | None:
        """Return the score of a member, or None for no member."""
        return cls.scores(key, [pk]).get(pk)

    @classmethod
    def scores(cls, key: str, pks: Iterable[K]) -> dict[K, float]:
        """Return the scores of members by primary key, without those that are no members."""
        structure = find_structure(cls, key, Ranking)
        asked = list(dict.fromkeys(pks))
        if not asked:
            return {}
        members = structure.write_members(asked)

        def decode(replies: list[Any]) -> dict[K, float]:
            scores: dict[K, float] = {}
            for reply in replies:
                # Each bucket answers for all members, and at most one bucket contains a member.
                for pk, score in zip(asked, reply, strict=True):
                    if score is not None:
                        scores.setdefault(pk, float(score))
            return {pk: scores[pk] for pk in asked if pk in scores}

        def load() -> dict[K, float]:
            found = structure.find_in_sql()
            pairs = found.list_scores(found.filter_members(structure.parse_pks(asked)))
            by_text = {str(pk): score for pk, score in pairs}
            return {pk: by_text[str(pk)] for pk in asked if str(pk) in by_text}

        return _answer(structure, lambda pipe: [pipe.zmscore(name, members) for name in structure.keys], decode, load)

    # --- names and look-ups ---

    @classmethod
    def names(
        cls, key: str, count: int, *, prefix: str = "", after: Name | None = None, descending: bool = False
    ) -> list[Name]:
        """Return the next ``count`` names of an ``Alphabetical`` index with ``prefix``, ordered by their bytes.

        after: the last name of the page before.
        """
        structure, asked = find_structure(cls, key, Alphabetical), NameRange(count, prefix, after, descending)
        if count <= 0:
            return []
        return _answer(
            structure,
            lambda pipe: asked.add_commands(pipe, structure),
            lambda replies: asked.read(structure, replies[0]),
            lambda: asked.read_sql(structure.find_in_sql()),
        )

    @classmethod
    def find(cls, key: str) -> Any:
        """Return the primary key in the ``Lookup`` at ``key``, or None without such a row."""
        structure = find_structure(cls, key, Lookup)

        def decode(replies: list[Any]) -> Any:
            return None if replies[0] is None else structure.read_members(replies)[0]

        return _answer(
            structure,
            lambda pipe: pipe.get(key),
            decode,
            lambda: next(iter(structure.find_in_sql().list_members()), None),
        )

    # --- asynchronous twins ---

    @classmethod
    async def aget(cls, pk: object) -> R | None:
        """Do the same as ``get``, asynchronously."""
        return await sync_to_async(cls.get)(pk)

    @classmethod
    async def aget_many(cls, pks: Iterable[K]) -> dict[K, R]:
        """Do the same as ``get_many``, asynchronously."""
        return await sync_to_async(cls.get_many)(pks)

    @classmethod
    async def amembers(cls, key: str, limit: int | None = None) -> set[Any]:
        """Do the same as ``members``, asynchronously."""
        return await sync_to_async(cls.members)(key, limit)

    @classmethod
    async def afilter_members(cls, key: str, pks: Collection[K]) -> set[K]:
        """Do the same as ``filter_members``, asynchronously."""
        return await sync_to_async(cls.filter_members)(key, pks)

    @classmethod
    async def aintersection(cls, key: str, *others: str) -> set[Any]:
        """Do the same as ``intersection``, asynchronously."""
        return await sync_to_async(cls.intersection)(key, *others)

    @classmethod
    async def aunion(cls, key: str, *others: str) -> set[Any]:
        """Do the same as ``union``, asynchronously."""
        return await sync_to_async(cls.union)(key, *others)

    @classmethod
    async def adifference(cls, key: str, *others: str) -> set[Any]:
        """Do the same as ``difference``, asynchronously."""
        return await sync_to_async(cls.difference)(key, *others)

    @classmethod
    async def atop(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Do the same as ``top``, asynchronously."""
        return await sync_to_async(cls.top)(key, count, start)

    @classmethod
    async def abottom(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Do the same as ``bottom``, asynchronously."""
        return await sync_to_async(cls.bottom)(key, count, start)

    @classmethod
    async def apage(
        cls,
        key: str,
        count: int,
        *,
        after: Place | None = None,
        low: Bound = None,
        high: Bound = None,
        descending: bool = False,
    ) -> list[Place]:
        """Do the same as ``page``, asynchronously."""
        return await sync_to_async(cls.page)(key, count, after=after, low=low, high=high, descending=descending)

    @classmethod
    async def acount(cls, key: str, low: Bound = None, high: Bound = None) -> int:
        """Do the same as ``count``, asynchronously."""
        return await sync_to_async(cls.count)(key, low, high)

    @classmethod
    async def acounts(cls, key: str, scores: Iterable[S]) -> dict[S, int]:
        """Do the same as ``counts``, asynchronously."""
        return await sync_to_async(cls.counts)(key, scores)

    @classmethod
    async def arank(cls, key: str, pk: object) -> int | None:
        """Do the same as ``rank``, asynchronously."""
        return await sync_to_async(cls.rank)(key, pk)

    @classmethod
    async def ascore(cls, key: str, pk: object) -> float | None:
        """Do the same as ``score``, asynchronously."""
        return await sync_to_async(cls.score)(key, pk)

    @classmethod
    async def ascores(cls, key: str, pks: Iterable[K]) -> dict[K, float]:
        """Do the same as ``scores``, asynchronously."""
        return await sync_to_async(cls.scores)(key, pks)

    @classmethod
    async def anames(
        cls, key: str, count: int, *, prefix: str = "", after: Name | None = None, descending: bool = False
    ) -> list[Name]:
        """Do the same as ``names``, asynchronously."""
        return await sync_to_async(cls.names)(key, count, prefix=prefix, after=after, descending=descending)

    @classmethod
    async def afind(cls, key: str) -> Any:
        """Do the same as ``find``, asynchronously."""
        return await sync_to_async(cls.find)(key)

    @classmethod
    def _find_places(cls, key: str, asked: PlaceRange) -> list[Place]:
        if asked.start < 0:
            raise ValueError(f"start is {asked.start}, and has to be at least 0")
        structure = find_structure(cls, key, Ranking)
        if asked.size <= 0:
            return []
        return _answer(
            structure,
            lambda pipe: asked.add_commands(pipe, structure),
            lambda replies: asked.read(structure, replies),
            lambda: asked.read_sql(structure.find_in_sql()),
        )

    @classmethod
    def _count_above(cls, structure: Structure, score: float) -> int:
        return _answer(
            structure,
            lambda pipe: [pipe.zcount(name, f"({score!r}", "+inf") for name in structure.keys],
            lambda replies: int(sum(replies)),
            lambda: structure.find_in_sql().count_above(score),
        )

    @classmethod
    def _combine(cls, command: str, keys: Sequence[str], join: Callable[[set[Any], set[Any]], set[Any]]) -> set[Any]:
        """Combine sets in Redis if each has one key in one slot, and otherwise in the process."""
        structures = [find_structure(cls, key, SetOf) for key in keys]
        if len(structures) == 1:
            return cls.members(keys[0])
        in_redis = _can_combine(structures)

        def ask(pipe: "RedisPipeline") -> None:
            if in_redis:
                pipe.execute_command(command.upper(), *keys)
                return
            for structure in structures:
                for name in structure.keys:
                    pipe.smembers(name)

        def decode(replies: list[Any]) -> set[Any]:
            if in_redis:
                return set(structures[0].read_members(replies[0]))
            remaining = iter(replies)
            sets = []
            for structure in structures:
                # One reply for each bucket
                of_buckets = islice(remaining, len(structure.keys))
                members = chain.from_iterable(of_buckets)
                sets.append(set(structure.read_members(members)))
            return _reduce(join, sets)

        def load() -> set[Any]:
            return _reduce(join, [set(structure.find_in_sql().list_members()) for structure in structures])

        return _answer(structures[0], ask, decode, load)


def _can_combine(structures: Sequence[Structure]) -> bool:
    """Return whether Redis can combine sets: each has one key, in the same slot, and members of the same form."""
    if any(len(structure.keys) > 1 for structure in structures):
        return False
    if len({_find_tag(structure.key) for structure in structures}) > 1:
        return False
    # Redis compares members as text, which name the same row only in sets of one form.
    forms = {getattr(structure.index, "member", "") for structure in structures}
    return len(forms) == 1


def _answer(
    structure: Structure,
    ask: Callable[["RedisPipeline"], object],
    decode: Callable[[list[Any]], T],
    load: Callable[[], T],
) -> T:
    return answer(Question([structure.mirror.name], ask, decode, load))


def _reduce(join: Callable[[set[Any], set[Any]], set[Any]], sets: list[set[Any]]) -> set[Any]:
    found, *others = sets
    for other in others:
        found = join(found, other)
    return found


def _find_tag(key: str) -> str:
    """Return the part of a key that chooses its slot on a cluster."""
    _, _, rest = key.partition("{")
    tag, end, _ = rest.partition("}")
    return tag if end and tag else key
