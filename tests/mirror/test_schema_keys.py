"""Kinds of keys and columns: a mirror is equal to SQL after every write, or a check refuses it."""

import uuid

import pytest
from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.contrib.contenttypes.models import ContentType
from django.db import models
from django.db.models import F

from mirror import Count, Ids, Mirror, Names, Ranking, SetOf, Sum, Watch, register, registry
from mirror.checks import check_declarations
from mirror.models import Change
from mirror.outbox.changes import WHOLE
from mirror.redis.clients import relay_client
from mirror.relay import drains
from mirror.relay.sql_only import sql_only
from mirror.warm import marker
from tests.mirror.schemas import Create, Declare, Sample, assert_equal, refuse
from tests.support.warm_mirrors import rebuild

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated"),
    pytest.mark.also_on("sqlite"),
]


class TestUuids:
    def test_rows_with_uuids_as_keys_are_equal(self, tables: Create, declare: Declare) -> None:
        class Shelf(Sample):
            id = models.UUIDField(primary_key=True, default=uuid.uuid4)
            name = models.TextField()

        class Tome(Sample):
            id = models.UUIDField(primary_key=True, default=uuid.uuid4)
            name = models.TextField()
            shelf = models.ForeignKey(Shelf, models.CASCADE, related_name="tomes")
            others = models.ManyToManyField(Shelf, related_name="+")

        tables(Shelf, Tome)
        shelf = Shelf._base_manager.create(name="s")
        tome = Tome._base_manager.create(name="t", shelf=shelf)
        mirror = declare(
            Tome,
            fields=["name", "shelf_id", "shelf__name", Ids("others")],
            indexes=[SetOf("tkinds:{value}", over="shelf_id")],
        )
        shelves = declare(Shelf, name="odd_shelves", key="tkind_shelves:{pk}", fields=[Names("tomes"), Count("tomes")])
        other = Tome._base_manager.create(name="o", shelf=shelf)
        rows = Change.objects.exclude(key=WHOLE)  # the new triggers ordered rebuilds
        assert {*rows.values_list("key", flat=True)} == {str(other.pk), str(shelf.pk)}
        tome.others.add(shelf)
        Shelf._base_manager.update(name="S")
        Tome._base_manager.filter(pk=tome.pk).update(name="T")
        record = {"name": "T", "shelf_id": str(shelf.pk), "shelf__name": "S", "others": [str(shelf.pk)]}
        assert assert_equal(mirror)[str(tome.pk)] == mirror.get(tome.pk) == record
        assert mirror.members(f"tkinds:{shelf.pk}") == {tome.pk, other.pk}
        assert sorted(assert_equal(shelves)[str(shelf.pk)]["tomes"]) == ["T", "o"]
        Tome._base_manager.filter(pk=tome.pk).delete()
        assert [*assert_equal(mirror)] == [str(other.pk)]
        assert mirror.get(tome.pk) is None


class TestInheritance:
    def test_inherited_columns_over_relations_are_equal(self, tables: Create, declare: Declare) -> None:
        class Place(Sample):
            name = models.TextField()

        class Town(Sample):
            pass

        class Inn(Place):
            town = models.ForeignKey(Town, models.CASCADE, related_name="inns")

            class Meta:
                app_label = "mirrortest"

        class Manor(Inn):
            rooms = models.IntegerField()

            class Meta:
                app_label = "mirrortest"

        class Cook(Sample):
            inn = models.ForeignKey(Inn, models.CASCADE, null=True)
            manor = models.ForeignKey(Manor, models.CASCADE, null=True)

        tables(Place, Town, Inn, Manor, Cook)
        town = Town._base_manager.create()
        Place._base_manager.create(name="of another key")
        manor = Manor._base_manager.create(name="a", town=town, rooms=1)
        Cook._base_manager.create(inn=manor, manor=manor)
        mirrors = [
            declare(model, name=f"odd{number}", key=f"tkind{number}:" + "{pk}", fields=fields)
            for number, (model, fields) in enumerate(
                [
                    (Cook, ["inn__name", "manor__name"]),
                    (Town, [Names("inns")]),
                    (Place, ["inn__name", "inn__town_id"]),
                    (Manor, ["name", "town_id", "rooms"]),
                ]
            )
        ]
        Place._base_manager.filter(pk=manor.pk).update(name="b")
        found = [str(assert_equal(mirror)) for mirror in mirrors]
        assert ["'b'" in text for text in found] == [True] * 4

    @pytest.mark.parametrize("own_key", [False, True])
    def test_parents_with_keys_of_their_own_are_equal(self, own_key: bool, tables: Create, declare: Declare) -> None:
        class Text(Sample):
            text_id = models.AutoField(primary_key=True)
            title = models.TextField()

        class Thing(Sample):
            thing_id = models.AutoField(primary_key=True)
            weight = models.IntegerField()

        class Review(Sample):
            thing = models.ForeignKey(Thing, models.CASCADE, related_name="reviews")

        if own_key:

            class Scroll(Thing):
                number = models.AutoField(primary_key=True)
                link = models.OneToOneField(Thing, models.CASCADE, parent_link=True)

                class Meta:
                    app_label = "mirrortest"

        else:

            class Scroll(Text, Thing):  # type: ignore[no-redef]
                class Meta:
                    app_label = "mirrortest"

        tables(Text, Thing, Review, Scroll)
        for weight in range(3):  # so that the keys differ
            Thing._base_manager.create(weight=weight)
        scroll = Scroll._base_manager.create(weight=5)
        assert scroll.pk != scroll.thing_id
        mirror = declare(Scroll, fields=["weight"], where=models.Q(weight__gt=0))
        Thing._base_manager.filter(pk=scroll.thing_id).update(weight=7)
        assert [*assert_equal(mirror).values()] == [{"weight": 7}]
        Thing._base_manager.filter(pk=scroll.thing_id).update(weight=0)
        assert assert_equal(mirror) == {}
        registry.unregister("odd")
        assert "mirror mirrortest.Thing instead" in refuse(Scroll, fields=[Count("reviews")])


class TestColumns:
    def test_generated_number_is_a_score(self, tables: Create, declare: Declare) -> None:
        class Square(Sample):
            side = models.IntegerField()
            owner = models.ForeignKey("self", models.CASCADE, null=True, related_name="squares")
            area = models.GeneratedField(
                expression=F("side") * F("side"), output_field=models.IntegerField(), db_persist=True
            )

        tables(Square)
        small, large = (Square._base_manager.create(side=side) for side in (2, 3))
        mirror = declare(
            Square, fields=["area", Sum("squares", "area")], indexes=[Ranking("tkinds:area", score="area")]
        )
        Square._base_manager.filter(pk=small.pk).update(side=4, owner=large)
        assert assert_equal(mirror)[str(large.pk)] == {"area": 9, "squares_area_sum": 16}
        assert mirror.top("tkinds:area", 2) == [small.pk, large.pk]

    def test_child_of_a_model_with_a_foreign_object_is_equal(self, tables: Create, declare: Declare) -> None:
        class Pair(Sample):
            a, b = models.IntegerField(), models.IntegerField()

            class Meta(Sample.Meta):
                unique_together = (("a", "b"),)

        class Half(Sample):
            a, b, value = models.IntegerField(), models.IntegerField(), models.IntegerField(default=0)
            pair = models.ForeignObject(Pair, models.CASCADE, ["a", "b"], ["a", "b"], related_name="halves")

        class Quarter(Half):
            name = models.TextField()

        tables(Pair, Half, Quarter)
        row = Quarter._base_manager.create(a=1, b=2, name="x")
        mirror = declare(Quarter, fields=["name", "a"])
        Half._base_manager.update(a=3)
        assert assert_equal(mirror) == {str(row.pk): {"name": "x", "a": 3}}


class TestRefusedKinds:
    """What cannot be watched is refused with the model and the alternative."""

    def test_generic_relations(self) -> None:
        class Mark(Sample):
            kind = models.ForeignKey(ContentType, models.CASCADE, related_name="+")
            number = models.IntegerField()
            target = GenericForeignKey("kind", "number")

        class Marked(Sample):
            marks = GenericRelation(Mark, "number", "kind", related_query_name="marked")

        for model, field in ((Mark, "target"), (Mark, "marked"), (Marked, Count("marks"))):
            registry._refused.clear()
            name = field if isinstance(field, str) else field.relation
            reason = refuse(model, fields=[field])
            assert f"mirrortest.{model.__name__}.{name} is generic" in reason
            assert "write load() and record(), with a Watch on each table" in reason

    def test_foreign_objects(self) -> None:
        class Pair(Sample):
            a, b = models.IntegerField(), models.IntegerField()

            class Meta:
                app_label, unique_together = "mirrortest", [("a", "b")]

        class Half(Sample):
            a, b = models.IntegerField(), models.IntegerField()
            pair = models.ForeignObject(Pair, models.CASCADE, ["a", "b"], ["a", "b"], related_name="halves")

        for model, field in ((Half, "pair"), (Half, "pair__a"), (Pair, Count("halves")), (Pair, Names("halves", "a"))):
            registry._refused.clear()
            reason = refuse(model, fields=[field])
            assert f"mirrortest.{model.__name__}.{'pair' if model is Half else 'halves'} is a ForeignObject" in reason
            assert "use a ForeignKey" in reason

    def test_primary_keys_of_several_columns(self, tables: Create, declare: Declare) -> None:
        class Bill(Sample):
            pass

        class Line(Sample):
            pk = models.CompositePrimaryKey("bill_id", "number")
            bill = models.ForeignKey(Bill, models.CASCADE, related_name="lines")
            number = models.IntegerField()

        reason = refuse(Line, fields=["number"])
        assert "the primary key of mirrortest.Line has several columns" in reason
        assert "EdgeMirror" in reason
        registry._refused.clear()
        register(type("OddMirror", (Mirror,), {"model": Line, "key": "tkind:{pk}", "watches": [Watch(Line)]}))
        [message] = [found for found in check_declarations() if found.id == "mirror.E004"]
        assert "mirrortest.Line: its primary key has several columns" in message.msg
        assert "Watch(Line, ('bill_id', 'number'))" in str(message.hint)
        registry.unregister("odd")
        tables(Bill, Line)
        bill = Bill._base_manager.create()
        mirror = declare(Bill, fields=[Names("lines", "number"), Count("lines")])
        Line._base_manager.create(bill=bill, number=7)
        assert [*assert_equal(mirror).values()] == [{"lines": [7], "lines_count": 1}]
        Line._base_manager.all().delete()
        assert [*assert_equal(mirror).values()] == [{"lines": [], "lines_count": 0}]


class Coin:
    """A value of its own type, which JSON does not know."""

    def __init__(self, text: str) -> None:
        self.text = text


class CoinField(models.CharField):
    """A column whose values are coins."""

    def from_db_value(self, value: str | None, expression: object, connection: object) -> Coin | None:
        return None if value is None else Coin(value)

    def to_python(self, value: object) -> object:
        return Coin(value) if isinstance(value, str) else value

    def get_prep_value(self, value: object) -> object:
        return value.text if isinstance(value, Coin) else value


class TestValues:
    def test_values_of_other_types_become_the_stored_ones(self, tables: Create, declare: Declare) -> None:
        class Purse(Sample):
            coin = CoinField(max_length=9, null=True)

        tables(Purse)
        mirror = declare(Purse, fields=["coin"])
        row = Purse._base_manager.create(coin=Coin("gold"))
        assert assert_equal(mirror) == {str(row.pk): {"coin": "gold"}}
        Purse._base_manager.update(coin=None)
        assert assert_equal(mirror) == {str(row.pk): {"coin": None}}

    @pytest.mark.only_on("postgres")
    def test_ranges_are_refused_with_the_alternative(self) -> None:
        from django.contrib.postgres.fields import ArrayField, IntegerRangeField

        class Stay(Sample):
            nights = IntegerRangeField()
            others = ArrayField(IntegerRangeField())

        for name in ("nights", "others"):
            registry._refused.clear()
            assert f"{name!r} is a range, and records are JSON; mirror its bounds" in refuse(Stay, fields=[name])

    def test_row_with_the_key_of_an_asterisk_is_a_row(self, tables: Create, declare: Declare) -> None:
        class Code(Sample):
            code = models.TextField(primary_key=True)
            name = models.TextField()

        tables(Code)
        mirror = declare(Code, fields=["name"])
        Code._base_manager.create(code="*", name="a")
        Code._base_manager.create(code="b", name="b")
        assert [*assert_equal(mirror)] == ["*", "b"]
        Code._base_manager.update(name="c")
        assert assert_equal(mirror)["*"] == {"name": "c"}

    def test_text_with_a_zero_byte_is_no_key(self, tables: Create, declare: Declare) -> None:
        class Code(Sample):
            code = models.TextField(primary_key=True)
            name = models.TextField()

        tables(Code)
        mirror = declare(Code, fields=["name"], indexes=[Ranking("tkinds", score=1)])
        Code._base_manager.create(code="a", name="a")
        assert [*assert_equal(mirror)] == ["a"]
        wanted = ({"a": {"name": "a"}}, None, None)
        assert (mirror.get_many(["a\0b", "a"]), mirror.get("a\0b"), mirror.score("tkinds", "a\0b")) == wanted
        with sql_only():
            assert (mirror.get_many(["a\0b", "a"]), mirror.get("a\0b"), mirror.score("tkinds", "a\0b")) == wanted

    def test_row_with_the_key_of_a_change_of_everything_leads_to_rebuilds(
        self, tables: Create, declare: Declare
    ) -> None:
        class Code(Sample):
            code = models.TextField(primary_key=True)
            name = models.TextField()

        tables(Code)
        mirror = declare(Code, fields=["name"], indexes=[SetOf("tkinds:{value}", over="name")])
        row = Code._base_manager.create(code=WHOLE, name="a")
        drains.drain_all()
        assert not marker.is_warm(relay_client(), "odd")
        rebuild(["odd"])
        assert assert_equal(mirror) == {WHOLE: {"name": "a"}}
        row.delete()
        drains.drain_all()
        rebuild(["odd"])
        assert assert_equal(mirror) == {}
        assert mirror.members("tkinds:a") == set()

    def test_a_ranking_over_a_nullable_column_of_a_hash_is_refused(self) -> None:
        class Dated(Sample):
            at = models.DateTimeField(null=True)

        kind = {"fields": ["at"], "record_kind": "hash", "indexes": [Ranking("ranked", score="at")]}
        assert "a missing 'at' is an empty text" in refuse(Dated, **kind)

    @pytest.mark.only_on("sqlite")  # PostgreSQL adds up to a larger type
    def test_a_sum_that_overflows_is_quarantined_and_stops_no_other_row(self, tables: Create, declare: Declare) -> None:
        class Account(Sample):
            name = models.TextField()

        class Entry(Sample):
            account = models.ForeignKey(Account, models.CASCADE, related_name="entries")
            amount = models.BigIntegerField()

        tables(Account, Entry)
        rich, poor = (Account._base_manager.create(name=name) for name in ("rich", "poor"))
        mirror = declare(Account, fields=["name", Sum("entries", "amount")])
        Entry._base_manager.bulk_create(Entry(account=rich, amount=2**62) for _ in range(2))
        Account._base_manager.filter(pk=poor.pk).update(name="less poor")
        while Change.objects.pending().exists():
            drains.drain_all()
        assert {change.key for change in Change.objects.quarantined()} == {str(rich.pk)}
        assert mirror.get(poor.pk) == {"name": "less poor", "entries_amount_sum": 0}


class TestOverlappingKeys:
    @pytest.mark.parametrize(
        ("key", "index"),
        [("doc:r:{pk}", SetOf("doc:{value}", over="kind")), ("doc:{pk}", SetOf("doc:{value}", over="kind"))],
    )
    def test_a_structure_with_the_keys_of_records_is_refused(self, key: str, index: SetOf) -> None:
        class Doc(Sample):
            kind = models.TextField()

        register(type("OddMirror", (Mirror,), {"model": Doc, "key": key, "fields": ["kind"], "indexes": [index]}))
        [message] = check_declarations()
        assert message.id == "mirror.E008"
        assert "belong to several structures" in message.msg

    def test_a_structure_with_the_keys_of_another_is_refused(self) -> None:
        class Pair(Sample):
            low = models.IntegerField()
            high = models.IntegerField()

        indexes = [SetOf("pairs:{low}:{high}"), Ranking("pairs:r", score="low")]
        kind = {"model": Pair, "key": "pair:{pk}", "fields": ["low", "high"], "indexes": indexes}
        register(type("OddMirror", (Mirror,), kind))
        [message] = check_declarations()
        assert message.id == "mirror.E008"


def test_primary_key_that_points_at_itself_is_refused() -> None:
    class Loop(Sample):
        before = models.OneToOneField("self", models.CASCADE, primary_key=True)

    register(type("OddMirror", (Mirror,), {"model": Loop, "key": "tkind:{pk}", "fields": ["before"]}))
    assert {message.id for message in check_declarations()} == {"mirror.E006"}
