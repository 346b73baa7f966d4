"""The shape of each kind of mirror: its watched key, its reads, the entries it accounts for, and its writes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from redis import Redis

from mirror import registry
from mirror.declare import values
from mirror.declare.entries import Member, Members, Scored
from mirror.kinds import ABSENT, EdgeKind, HashKind, JsonKind, Kind, SummaryKind, kind_of
from mirror.models import Change
from mirror.redis import naming
from mirror.redis.clients import client
from mirror.redis.session import Session
from mirror.relay import apply, drains
from mirror.verify import runs
from tests.projects.mirrortest.models import Follow, Group, Item, Note, Writer

pytestmark = [pytest.mark.usefixtures("committed", "no_hints"), pytest.mark.also_on("cluster")]

JSON = kind_of(registry.get("titem"))
HASH = kind_of(registry.get("tgroup"))
EDGE = kind_of(registry.get("tfollow"))
SUMMARY = kind_of(registry.get("latest"))


def test_each_kind_of_mirror_has_its_shape() -> None:
    assert [type(shape) for shape in (JSON, HASH, EDGE, SUMMARY)] == [JsonKind, HashKind, EdgeKind, SummaryKind]


def test_watched_key_is_the_own_key_or_a_guard() -> None:
    assert JSON.watched("7") == "titem:7"
    assert EDGE.watched("1:2") == naming.guard("tfollow", "1:2")
    assert SUMMARY.watched("7") == SUMMARY.watched("8") == "titems:latest"


def drain_one(mirror: str, pk: str) -> object:
    return apply.drain(registry.get(mirror), [pk])


def verify_all(mirror: str, pk: str) -> object:
    """Verify a mirror, and raise the error of an unreadable row."""
    Change.objects.all().delete()  # rows with a pending change are not reported
    for difference in runs.verify([mirror]):
        if difference.kind == "unreadable":
            raise TypeError(str(difference.found).removeprefix("TypeError: "))
    return None


def rows() -> dict[str, tuple[Kind, list[str]]]:
    """Create a row of each kind. Return the shapes, each with an existing and a missing key."""
    group = Group.objects.create(name="g")
    item = Item.objects.create(name="a", group=group)
    Follow.objects.create(follower=1, followed=2)
    return {
        "json": (JSON, [str(item.pk), "999"]),
        "hash": (HASH, [str(group.pk), "999"]),
        "edge": (EDGE, ["1:2", "8:9"]),
        "summary": (SUMMARY, [""]),
    }


@pytest.mark.parametrize("kind", ["json", "hash", "summary"])
@pytest.mark.only_on("single")  # it names keys of several slots in one command
def test_written_values_are_read_back_unchanged(kind: str) -> None:
    shape, pks = rows()[kind]
    targets = shape.targets(pks)
    owns = {pk: targets.get(pk, ABSENT).own for pk in pks}
    assert owns[pks[0]] is not None
    with Session(client()) as session:
        session.execute(shape.write(owns))
        assert shape.read_states(pks, session.ask(shape.ask(pks))) == list(owns.values())


@pytest.mark.parametrize("kind", ["json", "hash", "edge", "summary"])
@pytest.mark.only_on("single")  # its own write breaks a WATCH, and a cluster has fences
def test_writing_a_missing_row_leaves_no_key_and_breaks_watches(kind: str, redis: Redis) -> None:
    shape, pks = rows()[kind]
    with Session(client()) as session, redis.pipeline() as other:
        other.watch(shape.watched(pks[-1]))
        session.execute(shape.write({pks[-1]: None}))
        other.multi()
        other.set("x", "1")
        with pytest.raises(Exception, match="Watched"):
            other.execute()
    assert redis.keys("*") == []


@pytest.mark.only_on("single")  # its own write breaks a WATCH, and a cluster has fences
def test_writing_an_equal_value_breaks_watches(redis: Redis) -> None:
    for shape, pks in rows().values():
        target = shape.targets(pks[:1])[pks[0]]
        with Session(client()) as session, redis.pipeline() as other:
            session.execute(shape.write({pks[0]: target.own}))
            other.watch(shape.watched(pks[0]))
            session.execute(shape.write({pks[0]: target.own}))
            other.multi()
            other.set("x", "1")
            with pytest.raises(Exception, match="Watched"):
                other.execute()


def test_equal_records_are_encoded_to_equal_bytes() -> None:
    assert JSON.encode({"b": 1, "a": {"d": 1, "c": 2}}) == JSON.encode({"a": {"c": 2, "d": 1}, "b": 1})


def test_entries_of_a_record_are_derived_from_the_record_alone() -> None:
    shape, pks = rows()["json"]
    target = shape.targets(pks)[pks[0]]
    Item.objects.all().delete()
    assert list(shape.before(pks[0], target.own)) == list(target.entries)
    assert list(shape.before(pks[0], None)) == []


def test_missing_edge_still_accounts_for_its_entries() -> None:
    assert list(EDGE.before("1:2", None)) == list(registry.get("tfollow").entries("1:2"))  # type: ignore[attr-defined]
    assert EDGE.targets(["1:2"]) == {}


def test_removed_field_is_removed_from_the_hash(redis: Redis) -> None:
    redis.hset(HASH.watched("7"), mapping={"name": "g", "old": "x"})
    with Session(client()) as session:
        session.execute(HASH.write({"7": {"name": "g"}}))
    assert redis.hgetall(HASH.watched("7")) == {b"name": b"g"}


def test_empty_summary_is_no_key() -> None:
    assert SUMMARY.targets([""]) == {}


@pytest.mark.parametrize("work", [lambda: apply.drain(JSON.mirror, ["1"]), lambda: verify_all("titem", "1")])
def test_keys_of_the_wrong_type_raise_an_error_and_delete_nothing(
    work: Callable[[], object], redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    Item.objects.create(pk=1, name="a")
    drains.drain_all()
    record = redis.get("titem:1")
    assert record
    Item.objects.filter(pk=1).update(name="b")
    load = JSON.mirror.load
    monkeypatch.setattr(JSON.mirror, "load", lambda pks: {int(pk): row for pk, row in load(pks).items()})
    with pytest.raises(TypeError, match=r"titem: load\(\) returned the key 1; keys are str"):
        work()
    assert redis.get("titem:1") == record


@dataclass(frozen=True)
class Wrong:
    """A faulty declaration. method: of this mirror; value: computes the faulty result from the correct one."""

    mirror: str
    method: str
    value: Callable[[Any], Any]
    says: str


def first(entries: Iterable[Any], **parts: Any) -> list[Any]:
    """Return the entries, with these parts of the first one replaced."""
    found, *others = entries
    return [found._replace(**parts), *others]


WRONG = {
    "record": Wrong(
        "titem", "record", lambda r: {**r, "labels": ["a", Decimal(1)]}, r"record of '1'.* at \['labels'\]\[1\]"
    ),
    "field": Wrong("tgroup", "record", lambda r: {**r, "name": None}, r"record of '1'.*field 'name' is None"),
    "no score": Wrong("titem", "index", lambda e: [Scored("z", "1", None)], "of '1' has the score None.*key='z'"),  # type: ignore[arg-type]
    "text score": Wrong("titem", "index", lambda e: [Scored("z", "1", "5")], "of '1' has the score '5'.*key='z'"),  # type: ignore[arg-type]
    "NaN": Wrong("titem", "index", lambda e: [Scored("z", "1", float("nan"))], "of '1' has the score nan.*key='z'"),
    "int": Wrong("titem", "index", lambda e: [Member("s", 5)], "of '1' has the member 5.*key='s'"),  # type: ignore[arg-type]
    "bytes": Wrong("titem", "index", lambda e: [Members(["s"], b"5")], r"of '1' has the member b'5'.*\['s'\]"),  # type: ignore[arg-type]
    "keys": Wrong("titem", "index", lambda e: [Members(["s", 7], "5")], r"of '1' has the keys \['s', 7\]"),  # type: ignore[list-item]
    "tuple": Wrong("titem", "index", lambda e: [("s", "5")], r"entry of '1' is \('s', '5'\), which is none of Member,"),
    "row": Wrong("titem", "index", lambda e: [7], "entry of '1' is 7, which is none of Member,"),
    "nothing": Wrong("titem", "index", lambda e: None, "entries of '1' are None"),
    "no record": Wrong("titem", "record", lambda r: None, r"record\(\) returned None for '1'"),
    "no mapping": Wrong("titem", "load", list, r"load\(\) returned \['1'\], which is no mapping"),
    "edge": Wrong("tfollow", "entries", lambda e: first(e, member=2), "of '1:2' has the member 2"),
    "ids": Wrong("ttopic", "newest", lambda w: {pk: ["5"] for pk in w}, r"newest\(\) returned '5' for"),
}


@pytest.mark.parametrize("how", WRONG)
@pytest.mark.parametrize("work", [drain_one, verify_all], ids=["drain", "verify"])
def test_value_of_the_wrong_type_is_named_with_mirror_row_and_place(
    work: Callable[[str, str], object], how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong, pk = WRONG[how], "1:2" if WRONG[how].mirror == "tfollow" else "1"
    Item.objects.create(pk=1, name="a", group=Group.objects.create(pk=1, name="g"))
    Follow.objects.create(follower=1, followed=2)
    Note.objects.create(pk=1, writer=Writer.objects.create(pk=1, name="w"), topic="1")
    mirror = registry.get(wrong.mirror)
    right = getattr(mirror, wrong.method)
    monkeypatch.setattr(mirror, wrong.method, lambda *args: wrong.value(right(*args)))
    with pytest.raises(TypeError, match=f"^{wrong.mirror}: .*{wrong.says}"):
        work(wrong.mirror, pk)


def test_subclasses_of_valid_types_are_accepted() -> None:
    class Text(str):
        __slots__ = ()

    values.check_entries(
        "titem", "1", [Member(Text("s"), Text("1")), Scored("z", "1", np.float64(1)), Members((), "1")]
    )
    values.check_fields({"name": Text("g")})
