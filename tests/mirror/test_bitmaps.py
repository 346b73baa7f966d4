"""Bitmaps as records and as structures to which many rows contribute: drained, verified, repaired and rebuilt."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from redis import Redis

from mirror import Bit, Family, Mirror, SetOf, Watch, register, registry
from mirror.capture import install
from mirror.checks import check_declarations
from mirror.comparison import scan
from mirror.comparison.scan import PARTS
from mirror.comparison.structures import BYTES
from mirror.kinds import BitmapKind
from mirror.redis.clients import relay_client
from mirror.redis.session import Session
from mirror.relay import drains
from mirror.upkeep.rebuild import rebuild
from mirror.verify import repair, runs
from mirror.verify.explain import explain
from tests.mirror.test_background import complete
from tests.projects.mirrortest.models import Item

pytestmark = [pytest.mark.usefixtures("committed", "no_hints", "own_registry"), pytest.mark.also_on("cluster")]
FAR = 8 * BYTES * 2 + 5  # an offset in the third part of a bitmap that is read in parts


class Days(Mirror):
    """``tdays:<id>`` has the bits of the score; ``tday:<bit>`` has the rows with that bit."""

    name = "tdays"
    model = Item
    record_kind = "bitmap"
    watches = (Watch(Item, only=("score",)),)

    def record_key(self, pk: str) -> str:
        return f"tdays:{pk}"

    def load(self, pks: Sequence[str]) -> Mapping[str, int]:
        rows = Item.objects.filter(pk__in=pks).exclude(score=0).values_list("pk", "score")
        return {str(pk): score for pk, score in rows}

    def record(self, row: Any) -> Any:
        return bytes([row])

    def index(self, pk: str, record: Any) -> Iterable[Bit]:
        return [Bit(f"tday:{bit}", int(pk)) for bit in range(8) if record[0] & 128 >> bit]

    def families(self) -> Sequence[Family]:
        return [Family("tday:", "bitmap", lambda key, member: member)]


@pytest.fixture
def items(redis: Redis) -> list[Item]:
    """Create rows with the bits 6 and 7, with bit 7, and without bits; the last one has a far offset."""
    register(Days)
    install.install()
    made = [Item.objects.create(pk=pk, name=str(pk), score=score) for pk, score in ((3, 3), (9, 1), (4, 0), (FAR, 1))]
    rebuild(["tdays"])
    drains.drain_all()
    return made


def read(redis: Redis) -> dict[str, list[int]]:
    """Return the offsets of the set bits of all bitmaps."""
    found = {}
    for key in sorted(redis.scan_iter("tday*")):
        raw = redis.get(key)
        assert raw is not None
        found[key.decode()] = [8 * at + bit for at, byte in enumerate(raw) for bit in range(8) if byte & 128 >> bit]
    return found


WHOLE = {"tday:6": [3], "tday:7": [3, 9, FAR], "tdays:3": [6, 7], "tdays:9": [7], f"tdays:{FAR}": [7]}


def test_rows_set_and_clear_their_bits_alone(items: list[Item], redis: Redis) -> None:
    assert read(redis) == WHOLE
    assert Days.get_many([3, 4]) == {3: b"\3"}
    Item.objects.filter(pk=3).update(score=129)
    Item.objects.filter(pk=9).delete()
    Item.objects.filter(pk=4).update(score=1)
    drains.drain_all()
    assert read(redis) == {
        "tday:0": [3], "tday:6": [], "tday:7": [3, 4, FAR], "tdays:3": [0, 7], "tdays:4": [7], f"tdays:{FAR}": [7],
    }  # fmt: skip
    assert runs.verify(["tdays"]) == []


DAMAGES: dict[str, tuple[Callable[[Redis], object], tuple[str, str, str]]] = {
    "a bit that is missing": (lambda r: r.setbit("tday:7", 9, 0), ("9", "missing", "tday:7")),
    "a far bit that is missing": (lambda r: r.setbit("tday:7", FAR, 0), (str(FAR), "missing", "tday:7")),
    "a bit too many": (lambda r: r.setbit("tday:6", 9, 1), ("9", "stray", "tday:6")),
    "a bit of a row that does not exist": (lambda r: r.setbit("tday:6", 77, 1), ("77", "stray", "tday:6")),
    "a bitmap that is missing": (lambda r: r.delete("tday:6"), ("3", "missing", "tday:6")),
    "a bitmap that is stray": (lambda r: r.setbit("tday:1", 9, 1), ("9", "stray", "tday:1")),
    "bits that cancel out": (
        lambda r: [r.setbit("tday:7", n, v) for n, v in ((3, 0), (9, 0), (5, 1), (7, 1))],
        ("3", "missing", "tday:7"),
    ),
    "a record that is stale": (lambda r: r.set("tdays:9", b"\7"), ("9", "stale", "tdays:9")),
    "a record that is stray": (lambda r: r.set("tdays:4", b"\7"), ("4", "stray", "tdays:4")),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_each_damage_is_found_and_repaired(items: list[Item], redis: Redis, name: str) -> None:
    damage, expected = DAMAGES[name]
    damage(redis)
    differences = runs.verify(["tdays"])
    assert expected in [(d.pk, d.kind, d.key) for d in differences]
    repair.order(differences)
    repair.carry_out(differences)
    assert runs.verify(["tdays"]) == []
    assert {key: bits for key, bits in read(redis).items() if bits} == WHOLE


@pytest.mark.parametrize("name", DAMAGES)
def test_the_background_verification_finds_each_damage(items: list[Item], redis: Redis, name: str) -> None:
    for mirror in registry.all_mirrors():
        if mirror.name != "tdays":
            registry.unregister(mirror.name)
    complete(redis)
    DAMAGES[name][0](redis)
    complete(redis, 300)
    drains.drain_all()
    assert {key: bits for key, bits in read(redis).items() if bits} == WHOLE


def test_a_rebuild_restores_an_emptied_server(items: list[Item], redis: Redis) -> None:
    redis.flushdb()
    rebuild(["tdays"])
    assert read(redis) == WHOLE
    [explained] = explain("tdays", "9")
    assert not explained.differs
    assert explained.entries == [("tday:7", "9", "", "")]


def test_fields_and_a_record_that_is_no_bitmap_are_refused(items: list[Item]) -> None:
    register(type("Fielded", (Days,), {"name": "fielded", "indexes": [SetOf("tall")]}))
    [message] = [found for found in check_declarations() if found.id == "mirror.E001"]
    assert "fields and indexes cannot make a bitmap" in message.msg
    for wrong in list[Any]([b"", "text", {}]):
        with pytest.raises(TypeError, match="has to be bytes"):
            BitmapKind.encode(wrong)


def test_a_long_bitmap_is_read_in_parts(items: list[Item], redis: Redis) -> None:
    family = Family("tlong", "bitmap", lambda key, member: member)
    for length in (0, 1, BYTES - 1, BYTES, BYTES + 1, BYTES * PARTS, BYTES * (PARTS + 1), BYTES * (PARTS + 1) + 1):
        wanted = sorted({8 * length * share // 7 for share in range(7)}) if length else []
        redis.delete("tlong")
        for offset in wanted:
            redis.setbit("tlong", offset, 1)
        if length:
            redis.setbit("tlong", 8 * length - 1, 1)
            wanted.append(8 * length - 1)
        with Session(relay_client()) as session:
            [content] = scan.contents(session, [("tlong", family)])
        assert list(content.raw) == wanted
        assert len(content.raw) == len(wanted)


def test_a_step_through_a_dense_bitmap_is_no_longer_than_its_count(items: list[Item], redis: Redis) -> None:
    family, wanted = Family("tdense", "bitmap", lambda key, member: member), list(range(2, 90_000))
    raw = bytearray(b"\xff" * (90_000 // 8))
    raw[0] = 0b00111111
    redis.set("tdense", bytes(raw))
    found, cursor, steps = list[int](), "0", 0
    with Session(relay_client()) as session:
        while steps == 0 or cursor not in scan.DONE:
            content, cursor = scan.next_members(session, "tdense", family, cursor, 999)
            assert len(content.raw) <= 999
            found, steps = [*found, *content.raw], steps + 1
    assert found == wanted
    assert steps < 110
