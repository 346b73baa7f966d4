"""The readers of a declaration give the same answers from Redis and from SQL."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.core.checks import run_checks
from django.db.models import Q
from redis import Redis

from mirror import (
    Alphabetical,
    Count,
    EdgeMirror,
    Entry,
    Lookup,
    Member,
    Mirror,
    Name,
    Names,
    Place,
    Ranking,
    SetOf,
    SqlMembers,
    register,
    registry,
)
from mirror.capture import install
from mirror.redis.recorder import record
from mirror.relay.sql_only import sql_only
from mirror.upkeep import rebuild
from mirror.verify import runs
from tests.projects.mirrortest.mirrors import FollowEdge, GroupHash, OddMirror
from tests.projects.mirrortest.models import Follow, Group, Item
from tests.projects.mirrortest.windows import NotesOfWriter
from tests.support.mirror.items import drained, make

pytestmark = [pytest.mark.usefixtures("committed", "own_registry"), pytest.mark.also_on("sqlite", "cluster")]
ENGINES = pytest.mark.parametrize("engine", ["Redis", "SQL"])


class ReadItem(Mirror):
    """A declaration with every kind of index."""

    name = "read_item"
    model = Item
    key = "read:{pk}"
    fields = ["name", "score", "hidden", "group_id", "group__name", Names("labels"), Count("labels")]
    where = Q(score__lt=1000)
    indexes = [
        Ranking("read_scores", score="score"),
        Ranking("read_counts", score="labels_count", buckets=3),
        Ranking("{{read_group}}:{value}", over="group__name", score="score", buckets=3),
        SetOf("{{read_label}}:{value}", over="labels", buckets=3),
        SetOf("read_hidden", when="hidden"),
        SetOf("read_scored", when="score"),
        SetOf("read_long", member="{name}\0{pk}", buckets=3),
        SetOf("{{read_one}}:hidden", when="hidden"),
        SetOf("{{read_one}}:named", member="{name}\0{pk}"),
        Ranking("read_all", score=0),
        SetOf("read_odd", when=lambda record: record["score"] % 2),
        Alphabetical("read_names", by="name"),
        Lookup("read_name:{value}", on="name"),
    ]


@pytest.fixture
def items(own_registry: None) -> list[Item]:
    """Create items and rebuild the mirror."""
    register(ReadItem)
    install.install()
    group = Group.objects.create(name="one")
    made = [
        make(f"item {n}", "red", *["round"] * (n % 2), score=n // 2, group=group if n % 3 else None) for n in range(12)
    ]
    make("too much", "red", score=1000)
    Item.objects.filter(pk=made[4].pk).update(hidden=True)
    rebuild.rebuild(["read_item"])
    drained()
    return made


def find_followed(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(Follow.objects.filter(follower=values["person"]), "followed")


def find_followers(values: Mapping[str, str]) -> SqlMembers:
    return SqlMembers(Follow.objects.filter(followed=values["person"]), "follower")


class ReadFollow(FollowEdge):
    """Edges whose families follow from the indexes."""

    name = "read_follow"
    indexes = (
        SetOf("tread:{{{person}}}:following", owner="{person}:{member}", sql=find_followed),
        SetOf("tread:{{{person}}}:followers", owner="{member}:{person}", sql=find_followers),
    )

    def entries(self, pk: str) -> Iterable[Entry]:
        follower, followed = pk.split(":")
        yield Member(f"tread:{{{follower}}}:following", followed)
        yield Member(f"tread:{{{followed}}}:followers", follower)

    families = EdgeMirror.families


def only(engine: str) -> AbstractContextManager[None]:
    return sql_only() if engine == "SQL" else nullcontext()


@pytest.fixture(autouse=True)
def counted(request: pytest.FixtureRequest, items: list[Item]) -> Iterator[None]:
    """Check that Redis answers alone and at once, or not at all."""
    engine = getattr(request.node, "callspec", None) and request.node.callspec.params.get("engine")
    with record() as seen:
        yield
    if engine == "Redis":
        assert not seen.sql
    elif engine == "SQL":
        assert not seen.round_trips


@ENGINES
def test_records_are_equal(engine: str, items: list[Item]) -> None:
    expected = {
        "name": "item 1", "score": 0, "hidden": False, "group_id": items[1].group_id, "group__name": "one",
        "labels": ["red", "round"], "labels_count": 2,
    }  # fmt: skip
    with only(engine):
        assert ReadItem.get(items[1].pk) == expected
        assert ReadItem.get(10**6) is None
        assert ReadItem.get("no number") is None
        assert list(ReadItem.get_many([items[5].pk, 10**6, items[1].pk])) == [items[5].pk, items[1].pk]
        assert list(ReadItem.get_many([str(items[1].pk), items[1].pk])) == [str(items[1].pk), items[1].pk]
        assert ReadItem.get_many([]) == {}


@ENGINES
def test_rankings_are_equal_ties_included(engine: str, items: list[Item]) -> None:
    best = sorted(items, key=lambda item: (item.score, str(item.pk)), reverse=True)
    counts = [
        item for part in (items[1::2], items[::2]) for item in sorted(part, key=lambda item: str(item.pk), reverse=True)
    ]
    grouped = [item.pk for item in best if item.group_id]
    with only(engine):
        assert ReadItem.top("read_scores", 5) == [item.pk for item in best[:5]]
        assert ReadItem.top("read_scores", 5, start=9) == [item.pk for item in best[9:]]
        assert ReadItem.top("read_scores", 0) == []
        assert ReadItem.top("read_counts", 20) == [item.pk for item in counts]
        assert ReadItem.top("{read_group}:one", 20) == grouped
        assert ReadItem.top("{read_group}:two", 20) == []
        assert ReadItem.top("read_all", 5) == sorted((item.pk for item in items), key=str, reverse=True)[:5]


@ENGINES
def test_pages_of_rankings_are_equal_in_both_directions(engine: str, items: list[Item]) -> None:
    rising = [Place(item.pk, float(item.score)) for item in sorted(items, key=lambda item: (item.score, str(item.pk)))]
    in_group = {item.pk for item in items if item.group_id}
    grouped = [place for place in rising if place.pk in in_group]
    vacant = Place(10**6, 2.0)  # between members of score 2 and 3 by its text
    behind = [place for place in rising if (place.score, str(place.pk)) > (2.0, str(vacant.pk))]
    with only(engine):
        for key, places in (("read_scores", rising), ("{read_group}:one", grouped)):
            for descending in (False, True):
                expected, seen = places[::-1] if descending else places, list[Place]()
                while page := ReadItem.page(key, 5, after=seen[-1] if seen else None, descending=descending):
                    seen += page
                assert seen == expected
            assert ReadItem.bottom(key, 3, start=2) == [place.pk for place in places[2:5]]
        assert ReadItem.page("read_scores", 20, after=vacant) == behind
        assert ReadItem.page("read_scores", 20, low=2, high=4) == [p for p in rising if 2 <= p.score <= 4]
        last = [p for p in rising if p.score == 3][-1]
        assert ReadItem.page("read_scores", 20, after=last, high=4) == [p for p in rising if p.score == 4]
        assert ReadItem.page("read_all", 3, descending=True)[0].score == 0
        assert ReadItem.page("read_scores", 0) == []


@ENGINES
def test_numbers_of_a_request_are_accepted(engine: str, items: list[Item]) -> None:
    """A visitor may ask for the page 10**30."""
    huge, place = 10**30, Place(str(items[-1].pk), "5.0")  # type: ignore[arg-type]
    pks = {item.pk for item in items}
    with only(engine):
        for key in ("read_scores", "{read_group}:one"):
            assert ReadItem.top(key, 1, start=huge) == []
            assert ReadItem.bottom(key, huge, start=huge) == []
            assert set(ReadItem.top(key, huge)) <= pks
            assert ReadItem.page(key, huge, after=place) == []
            assert ReadItem.page(key, huge, after=place, descending=True)
        assert ReadItem.top("read_scores", True) == ReadItem.top("read_scores", 1)
        assert ReadItem.members("read_hidden", huge) == {items[4].pk}
        assert len(ReadItem.names("read_names", huge)) == len(items)


@ENGINES
def test_counts_ranks_and_scores_are_equal(engine: str, items: list[Item]) -> None:
    with only(engine):
        assert ReadItem.count("read_scores") == ReadItem.count("{read_label}:red") == ReadItem.count("read_names") == 12
        assert ReadItem.count("read_scores", low=4) == 4
        assert ReadItem.count("read_scores", low=1, high=2) == 4
        assert ReadItem.counts("read_scores", [1, 2.0, 77]) == {1: 2, 2.0: 2, 77: 0}
        assert ReadItem.counts("read_counts", range(1, 3)) == {1: 6, 2: 6}
        assert ReadItem.counts("read_scores", []) == {}
        for key in ("read_scores", "read_counts"):
            scores = ReadItem.scores(key, [item.pk for item in items])
            assert [*scores] == [item.pk for item in items]
            assert all(
                ReadItem.rank(key, pk) == 1 + sum(other > score for other in scores.values())
                for pk, score in scores.items()
            )
        assert ReadItem.score("read_scores", items[11].pk) == 5.0
        assert ReadItem.score("read_scores", 10**6) is None
        assert ReadItem.rank("read_scores", "no number") is ReadItem.rank("read_counts", 10**6) is None


@ENGINES
def test_sets_are_filtered_and_combined_equally(engine: str, items: list[Item]) -> None:
    red, round_, hidden = "{read_label}:red", "{read_label}:round", "read_hidden"
    odd = {item.pk for item in items[1::2]}
    with only(engine):
        assert ReadItem.filter_members(round_, [items[1].pk, items[2].pk, 10**6, "x"]) == {items[1].pk}
        assert ReadItem.filter_members("read_scores", [items[2].pk, 10**6]) == {items[2].pk}
        assert ReadItem.filter_members(hidden, []) == set()
        assert ReadItem.intersection(red, round_) == ReadItem.intersection(round_) == odd
        assert ReadItem.intersection(red, hidden) == {items[4].pk}
        assert ReadItem.union(round_, hidden) == odd | {items[4].pk}
        assert ReadItem.difference(red, round_, hidden) == {item.pk for item in items[::2]} - {items[4].pk}
        assert ReadItem.intersection("{read_one}:hidden", "{read_one}:named") == {items[4].pk}  # one slot, two forms
        with pytest.raises(LookupError, match="has no Ranking at 'read_hidden'"):
            ReadItem.count(hidden, low=1)
        assert len(ReadItem.members(red, limit=3)) == 3
        assert ReadItem.members(hidden, limit=3) == {items[4].pk}
        with pytest.raises(TypeError, match="rows cannot be looked up"):
            ReadItem.filter_members("read_long", [1])


@ENGINES
def test_names_are_equal_in_both_directions(engine: str, items: list[Item]) -> None:
    rising = sorted((Name(item.name, item.pk) for item in items), key=lambda name: name.text.encode())
    with only(engine):
        for descending in (False, True):
            expected, seen = rising[::-1] if descending else rising, list[Name]()
            while page := ReadItem.names("read_names", 5, after=seen[-1] if seen else None, descending=descending):
                seen += page
            assert seen == expected
            wanted = [name for name in expected if name.text.startswith("item 1")]
            assert ReadItem.names("read_names", 9, prefix="item 1", descending=descending) == wanted
            after = wanted[1]
            assert ReadItem.names("read_names", 9, prefix="item 1", after=after, descending=descending) == wanted[2:]
        assert ReadItem.names("read_names", 9, prefix="ITEM") == []
        assert ReadItem.names("read_names", 0) == []


@ENGINES
def test_sets_and_lookups_are_equal(engine: str, items: list[Item]) -> None:
    with only(engine):
        assert ReadItem.members("{read_label}:red") == {item.pk for item in items}
        assert ReadItem.members("{read_label}:round") == {item.pk for item in items[1::2]}
        assert ReadItem.members("read_hidden") == {items[4].pk}
        assert ReadItem.members("read_scored") == {item.pk for item in items[2:]}
        assert ReadItem.members("read_long") == {item.pk for item in items}
        assert ReadItem.find("read_name:item 3") == items[3].pk
        assert ReadItem.find("read_name:too much") is None


@ENGINES
def test_asynchronous_twins_give_the_same_answers(engine: str, items: list[Item]) -> None:
    pk = items[0].pk

    async def read() -> list[Any]:
        return [
            await ReadItem.aget(pk) == expected,
            list(await ReadItem.aget_many([pk])),
            await ReadItem.atop("read_scores", 1),
            await ReadItem.amembers("read_hidden"),
            await ReadItem.afind("read_name:item 0"),
            await ReadItem.abottom("read_scores", 1) == [pk],
            [place.pk for place in await ReadItem.apage("read_scores", 1)] == [pk],
            await ReadItem.acount("read_hidden"),
            await ReadItem.acounts("read_scores", [0]),
            await ReadItem.arank("read_scores", pk),
            await ReadItem.ascore("read_scores", pk),
            await ReadItem.ascores("read_scores", [pk]),
            await ReadItem.afilter_members("read_hidden", [pk]),
            await ReadItem.aintersection("read_hidden", "read_scored"),
            await ReadItem.aunion("read_hidden", "read_hidden"),
            await ReadItem.adifference("read_hidden", "read_scored"),
            [name.text for name in await ReadItem.anames("read_names", 1)],
        ]

    with only(engine):
        expected = ReadItem.get(pk)
        top = ReadItem.top("read_scores", 1)
        hidden = items[4].pk
        assert async_to_sync(read)() == [
            True, [pk], top, {hidden}, pk, True, True, 1, {0: 2}, 11, 0.0, {pk: 0.0}, set(), {hidden}, {hidden}, set(),
            ["item 0"],
        ]  # fmt: skip


def test_a_read_takes_one_round_trip(items: list[Item]) -> None:
    ReadItem.get(1)  # opens the connection
    for read in (
        lambda: ReadItem.get_many([item.pk for item in items]),
        lambda: ReadItem.top("read_scores", 3),
        lambda: ReadItem.members("read_hidden"),
        lambda: ReadItem.find("read_name:x"),
        lambda: ReadItem.rank("read_scores", items[1].pk),
        lambda: ReadItem.page("read_scores", 2, after=Place(items[1].pk, 0.0)),
        lambda: ReadItem.intersection("{read_label}:red", "read_hidden", "read_scored"),
    ):
        with record() as seen:
            read()
        assert (seen.round_trips, len(seen.sql)) == (1, 0)


def test_edges_are_read_and_their_strays_found_by_indexes_alone(redis: Redis) -> None:
    register(ReadFollow)
    install.install()
    assert [message for message in run_checks() if message.obj is ReadFollow] == []
    for pair in ((1, 2), (1, 3), (4, 2)):
        Follow.objects.create(follower=pair[0], followed=pair[1])
    rebuild.rebuild(["read_follow"])
    for engine in ("Redis", "SQL"):
        with only(engine):
            assert ReadFollow.members("tread:{1}:following") == {2, 3}
            assert ReadFollow.members("tread:{2}:followers") == {1, 4}
            assert ReadFollow.filter_members("tread:{2}:followers", [3, 4]) == {4}
            assert ReadFollow.count("tread:{5}:following") == 0
    redis.sadd("tread:{2}:followers", "7")
    redis.sadd("tread:{8}:following", "9")
    assert {difference.pk for difference in runs.verify(["read_follow"])} == {"7:2", "8:9"}


def test_hashes_are_read_as_text() -> None:
    group = Group.objects.get()
    rebuild.rebuild(["tgroup"])
    for engine in ("Redis", "SQL"):
        with only(engine):
            assert GroupHash.get(group.pk) == {"name": "one", "items": "8"}


@pytest.mark.parametrize("is_by_sql", [False, True])
def test_mistakes_of_callers_are_errors_whoever_answers(is_by_sql: bool) -> None:
    with only("SQL" if is_by_sql else "Redis"):
        with pytest.raises(LookupError, match=r"has no SetOf at 'unknown' \(its keys are: '{{read_label}}"):
            ReadItem.members("unknown")
        with pytest.raises(LookupError, match=r"has no Lookup at 'read_scores' \('read_scores' is a Ranking\)"):
            ReadItem.find("read_scores")
        with pytest.raises(TypeError, match="SQL cannot answer"):
            ReadItem.members("read_odd")
        with pytest.raises(LookupError, match="its keys are: none"):
            OddMirror.members("x")
        with pytest.raises(TypeError, match="FollowEdge has no records"):
            FollowEdge.get("1:2")
        row = Item(pk=1)
        readers: list[Callable[[], object]] = [
            lambda: ReadItem.get(row),
            lambda: ReadItem.filter_members("read_hidden", [row]),
            lambda: ReadItem.rank("read_scores", row),
            lambda: ReadItem.score("read_scores", row),
            lambda: ReadItem.page("read_scores", 1, after=Place(row, 0.0)),
            lambda: NotesOfWriter.latest(row, 1),
        ]
        for reader in readers:
            with pytest.raises(TypeError, match=r"not a row of mirrortest\.Item: pass its pk"):
                reader()
        readers = [
            lambda: ReadItem.members("read_hidden", 1.5),  # type: ignore[arg-type]
            lambda: ReadItem.top("read_scores", 1.5),  # type: ignore[arg-type]
            lambda: ReadItem.bottom("read_scores", 1, "2"),  # type: ignore[arg-type]
            lambda: ReadItem.page("read_scores", 1.5),  # type: ignore[arg-type]
            lambda: ReadItem.names("read_names", 1.5),  # type: ignore[arg-type]
            lambda: NotesOfWriter.latest(1, 1.5),  # type: ignore[arg-type]
        ]
        for reader in readers:
            with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
                reader()
        with pytest.raises(ValueError, match="limit is -1, and has to be at least 0"):
            ReadItem.members("read_hidden", -1)
        with pytest.raises(ValueError, match="start is -1, and has to be at least 0"):
            ReadItem.top("read_scores", 1, -1)
        registry.unregister("read_item")
        with pytest.raises(registry.UnknownMirror):
            ReadItem.get(1)
