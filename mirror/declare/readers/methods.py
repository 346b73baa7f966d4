"""The readers, as class methods of every declaration."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain, cycle, islice
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from asgiref.sync import sync_to_async

from mirror.declare.indexes import Alphabetical, Lookup, Ranking, SetOf
from mirror.declare.questions import Question, answer, slot
from mirror.declare.readers.places import (
    Name,
    NameRange,
    Place,
    PlaceRange,
    filter_scores,
    write_bound,
)
from mirror.declare.readers.scores import Bound
from mirror.declare.readers.structure import Structure, find_structure, read_number, write_pk

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
Join = Callable[..., set[Any]]  # returns one set of several


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
        mirror = slot.engine.get_mirror(cls)
        # Several given keys may have one text, like 7 and "7".
        wanted = {pk: write_pk(pk) for pk in pks}
        if not mirror.has_record:
            raise TypeError(f"{cls.__qualname__} has no records to read")
        if not wanted:
            return {}
        found = answer(slot.engine.ask_for_records(mirror, list(dict.fromkeys(wanted.values()))))
        return {pk: found[text] for pk, text in wanted.items() if text in found}

    # --- sets ---

    @classmethod
    def members(cls, key: str, limit: int | None = None) -> set[Any]:
        """Return the members of the ``SetOf`` at ``key``: all of them, or any ``limit`` of them.

        Raises ValueError for a ``limit`` below zero.
        """
        structure = find_structure(cls, key, SetOf)
        if limit is not None:
            limit = read_number(limit)
            _refuse_negative("limit", limit)

        def add_commands(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                if limit is None:
                    pipe.smembers(name)
                else:
                    pipe.srandmember(name, limit)

        def read_replies(replies: list[Any]) -> set[Any]:
            # Each bucket returned up to ``limit`` members.
            members = islice(chain.from_iterable(replies), limit)
            return set(structure.read_members(members))

        def read_sql() -> set[Any]:
            found = structure.find_in_sql()
            return set(found.list_members(found.rows[:limit]))

        return _answer_question(structure, add_commands, read_replies, read_sql)

    @classmethod
    def filter_members(cls, key: str, pks: Collection[K]) -> set[K]:
        """Return those of ``pks`` that are members of the ``SetOf`` or ``Ranking`` at ``key``."""
        structure = find_structure(cls, key, SetOf, Ranking)
        asked = list(dict.fromkeys(pks))
        if not asked:
            return set()
        members = structure.write_members(asked)

        is_set = structure.index.kind == "set"
        # The reply for no member: 0 of SMISMEMBER, and None of ZMSCORE, to which 0 is a score.
        missing = 0 if is_set else None

        def add_commands(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                if is_set:
                    pipe.smismember(name, members)
                else:
                    pipe.zmscore(name, members)

        def read_replies(replies: list[Any]) -> set[K]:
            found: set[K] = set()
            for reply in replies:
                found.update(pk for pk, one in zip(asked, reply, strict=True) if one != missing)
            return found

        def read_sql() -> set[K]:
            found = structure.find_in_sql()
            rows = found.filter_members(structure.parse_pks(asked))
            present = set(map(str, found.list_members(rows)))
            return {pk for pk in asked if str(pk) in present}

        return _answer_question(structure, add_commands, read_replies, read_sql)

    @classmethod
    def intersection(cls, key: str, *others: str) -> set[Any]:
        """Return the members of all these sets."""
        return cls._combine_sets("SINTER", (key, *others), set.intersection)

    @classmethod
    def union(cls, key: str, *others: str) -> set[Any]:
        """Return the members of any of these sets."""
        return cls._combine_sets("SUNION", (key, *others), set.union)

    @classmethod
    def difference(cls, key: str, *others: str) -> set[Any]:
        """Return the members of the set at ``key`` that none of the others has."""
        return cls._combine_sets("SDIFF", (key, *others), set.difference)

    # --- rankings ---

    @classmethod
    def top(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Return the ``count`` members of the ``Ranking`` at ``key`` with the highest scores, the highest first.

        ``start`` of them are skipped. Raises ValueError for a ``start`` below zero.
        """
        places = cls._find_places(key, PlaceRange(read_number(count), is_descending=True, start=read_number(start)))
        return [place.pk for place in places]

    @classmethod
    def bottom(cls, key: str, count: int, start: int = 0) -> list[Any]:
        """Return the ``count`` members with the lowest scores, the lowest first, in the same way as ``top``."""
        places = cls._find_places(key, PlaceRange(read_number(count), start=read_number(start)))
        return [place.pk for place in places]

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
        if after is not None:
            # As from a query string, where both are text
            after = Place(write_pk(after.pk), float(after.score))
        return cls._find_places(key, PlaceRange(read_number(count), after, low, high, descending))

    @classmethod
    def count(cls, key: str, low: Bound = None, high: Bound = None) -> int:
        """Return the number of members of a ``SetOf``, ``Ranking`` or ``Alphabetical`` index.

        low, high: of the scores in a ``Ranking``, both inclusive.
        """
        has_bounds = low is not None or high is not None
        if has_bounds:
            structure = find_structure(cls, key, Ranking)
        else:
            structure = find_structure(cls, key, SetOf, Ranking, Alphabetical)

        def add_commands(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                if has_bounds:
                    pipe.zcount(name, write_bound(low, "-inf"), write_bound(high, "+inf"))
                elif structure.index.kind == "set":
                    pipe.scard(name)
                else:
                    pipe.zcard(name)

        def read_sql() -> int:
            found = structure.find_in_sql()
            return filter_scores(found, found.rows, low, high).count()

        return _answer_question(structure, add_commands, _add_up, read_sql)

    @classmethod
    def counts(cls, key: str, scores: Iterable[S]) -> dict[S, int]:
        """Return the numbers of members of a ``Ranking`` with exactly these scores, by score."""
        structure = find_structure(cls, key, Ranking)
        asked = list(dict.fromkeys(scores))
        if not asked:
            return {}

        def add_commands(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                for score in asked:
                    text = repr(float(score))
                    pipe.zcount(name, text, text)

        def read_replies(replies: list[Any]) -> dict[S, int]:
            counts = dict.fromkeys(asked, 0)
            # The replies are those of the first bucket for all scores, then those of the next bucket.
            for score, count in zip(cycle(asked), replies, strict=False):
                counts[score] += count
            return counts

        def read_sql() -> dict[S, int]:
            return structure.find_in_sql().count_scores(asked)

        return _answer_question(structure, add_commands, read_replies, read_sql)

    @classmethod
    def rank(cls, key: str, pk: object) -> int | None:
        """Return 1 plus the number of members with higher scores, or None for no member.

        With buckets it takes two round trips.
        """
        structure = find_structure(cls, key, Ranking)
        if len(structure.keys) > 1:
            # The first round trip finds the score, whose bucket is any of them, and the second one asks all buckets.
            score = cls.score(key, pk)
            if score is None:
                return None
            return cls._count_above(structure, score) + 1
        (member,) = structure.write_members([pk])

        def add_commands(pipe: "RedisPipeline") -> None:
            pipe.execute_command("EVAL", RANK_SCRIPT, 1, key, member)

        def read_replies(replies: list[Any]) -> int | None:
            (number_above,) = replies
            if number_above is None:
                return None
            return int(number_above) + 1

        def read_sql() -> int | None:
            found = structure.find_in_sql()
            score = found.find_scores(structure.parse_pks([pk])).get(str(pk))
            if score is None:
                return None
            return found.count_above(score) + 1

        return _answer_question(structure, add_commands, read_replies, read_sql)

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

        def add_commands(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                pipe.zmscore(name, members)

        def read_replies(replies: list[Any]) -> dict[K, float]:
            scores: dict[K, float] = {}
            # Each bucket answers for all members, and at most one bucket contains a member.
            for pk, *of_buckets in zip(asked, *replies, strict=True):
                for score in of_buckets:
                    if score is not None:
                        scores[pk] = float(score)
            return scores

        def read_sql() -> dict[K, float]:
            by_text = structure.find_in_sql().find_scores(structure.parse_pks(asked))
            # The given keys may be text.
            return {pk: by_text[str(pk)] for pk in asked if str(pk) in by_text}

        return _answer_question(structure, add_commands, read_replies, read_sql)

    # --- names and look-ups ---

    @classmethod
    def names(
        cls, key: str, count: int, *, prefix: str = "", after: Name | None = None, descending: bool = False
    ) -> list[Name]:
        """Return the next ``count`` names of an ``Alphabetical`` index with ``prefix``, ordered by their bytes.

        after: the last name of the page before.
        """
        structure = find_structure(cls, key, Alphabetical)
        asked = NameRange(read_number(count), prefix, after, descending)
        if asked.size <= 0:
            return []
        return _answer_question(
            structure,
            lambda pipe: asked.add_commands(pipe, structure),
            lambda replies: asked.read(structure, replies[0]),
            lambda: asked.read_sql(structure.find_in_sql()),
        )

    @classmethod
    def find(cls, key: str) -> Any:
        """Return the primary key in the ``Lookup`` at ``key``, or None without such a row."""
        structure = find_structure(cls, key, Lookup)

        def add_commands(pipe: "RedisPipeline") -> None:
            pipe.get(key)

        def read_replies(replies: list[Any]) -> Any:
            if replies[0] is None:
                return None
            (pk,) = structure.read_members(replies)
            return pk

        def read_sql() -> Any:
            members = structure.find_in_sql().list_members()
            return next(iter(members), None)

        return _answer_question(structure, add_commands, read_replies, read_sql)

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
        _refuse_negative("start", asked.start)
        structure = find_structure(cls, key, Ranking)
        if asked.size <= 0:
            return []
        return _answer_question(
            structure,
            lambda pipe: asked.add_commands(pipe, structure),
            lambda replies: asked.read(structure, replies),
            lambda: asked.read_sql(structure.find_in_sql()),
        )

    @classmethod
    def _count_above(cls, structure: Structure, score: float) -> int:
        def add_commands(pipe: "RedisPipeline") -> None:
            for name in structure.keys:
                pipe.zcount(name, f"({score!r}", "+inf")

        def read_sql() -> int:
            return structure.find_in_sql().count_above(score)

        return _answer_question(structure, add_commands, _add_up, read_sql)

    @classmethod
    def _combine_sets(cls, command: str, keys: Sequence[str], join: Join) -> set[Any]:
        """Combine sets in Redis if each has one key in one slot, and otherwise in the process."""
        structures = [find_structure(cls, key, SetOf) for key in keys]
        if len(structures) == 1:
            return cls.members(keys[0])
        if _can_combine(structures):
            return _combine_in_redis(command, structures, join)
        return _combine_here(structures, join)


def _refuse_negative(name: str, number: int) -> None:
    if number < 0:
        raise ValueError(f"{name} is {number}, and has to be at least 0")


def _combine_in_redis(command: str, structures: Sequence[Structure], join: Join) -> set[Any]:
    def add_commands(pipe: "RedisPipeline") -> None:
        pipe.execute_command(command, *[structure.key for structure in structures])

    def read_replies(replies: list[Any]) -> set[Any]:
        return set(structures[0].read_members(replies[0]))

    return _answer_question(structures[0], add_commands, read_replies, lambda: _combine_sql(structures, join))


def _combine_here(structures: Sequence[Structure], join: Join) -> set[Any]:
    def add_commands(pipe: "RedisPipeline") -> None:
        for structure in structures:
            for name in structure.keys:
                pipe.smembers(name)

    def read_replies(replies: list[Any]) -> set[Any]:
        remaining = iter(replies)
        sets: list[set[Any]] = []
        for structure in structures:
            # One reply for each bucket
            of_buckets = islice(remaining, len(structure.keys))
            members = chain.from_iterable(of_buckets)
            sets.append(set(structure.read_members(members)))
        return join(*sets)

    return _answer_question(structures[0], add_commands, read_replies, lambda: _combine_sql(structures, join))


def _combine_sql(structures: Sequence[Structure], join: Join) -> set[Any]:
    sets = [set(structure.find_in_sql().list_members()) for structure in structures]
    return join(*sets)


def _can_combine(structures: Sequence[Structure]) -> bool:
    """Return whether Redis can combine sets: each has one key, in the same slot, and members of the same form."""
    if any(len(structure.keys) > 1 for structure in structures):
        return False
    tags = {_find_tag(structure.key) for structure in structures}
    if len(tags) > 1:
        return False
    # Redis compares members as text, which name the same row only in sets of one form.
    forms = {getattr(structure.index, "member", "") for structure in structures}
    return len(forms) == 1


def _answer_question(
    structure: Structure,
    add_commands: Callable[["RedisPipeline"], object],
    read_replies: Callable[[list[Any]], T],
    read_sql: Callable[[], T],
) -> T:
    """Return the answer of a structure: from the replies to commands, or from SQL."""
    return answer(Question([structure.mirror.name], add_commands, read_replies, read_sql))


def _add_up(replies: list[Any]) -> int:
    return int(sum(replies))


def _find_tag(key: str) -> str:
    """Return the part of a key that chooses its slot on a cluster."""
    _, _, rest = key.partition("{")
    tag, end, _ = rest.partition("}")
    # Without an end, and with nothing in the braces, Redis Cluster hashes the whole key.
    if end and tag:
        return tag
    return key
