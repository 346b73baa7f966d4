"""Foreign keys with ``to_field``, and in conditions: a mirror is equal to SQL after every write, or is refused."""

import pytest
from django.db import connection, models, transaction
from django.db.models import F, OuterRef, Q
from django.db.models.functions import Now

from mirror import Column, Count, registry
from tests.mirror.schemas import Create, Declare, Model, Sample, assert_equal, refuse
from tests.support.mirror.outbox import run

pytestmark = [
    pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated"),
    pytest.mark.also_on("sqlite"),
]


class TestForeignKeysToAnotherColumn:
    @pytest.fixture
    def world(self, tables: Create) -> tuple[Model, Model, Model]:
        class Country(Sample):
            code = models.CharField(max_length=2, unique=True)
            name = models.TextField()

        class Press(Sample):
            country = models.ForeignKey(Country, models.CASCADE, to_field="code", related_name="presses")

        class Copy(Sample):
            press = models.ForeignKey(Press, models.CASCADE)

        tables(Country, Press, Copy)
        Country._base_manager.create(code="xx", name="first, so that no key is equal to another by chance")
        country = Country._base_manager.create(code="de", name="Germany")
        Copy._base_manager.create(press=Press._base_manager.create(country=country))
        return Country, Press, Copy

    def test_column_behind_one_follows_its_row(self, world: tuple[Model, Model, Model], declare: Declare) -> None:
        country, press, _ = world
        mirror = declare(press, fields=["country__name", Column("country_id", name="code")])
        country._base_manager.filter(code="de").update(name="Deutschland")
        assert [*assert_equal(mirror).values()] == [{"country__name": "Deutschland", "code": "de"}]

    def test_column_behind_two_relations_follows_its_row(
        self, world: tuple[Model, Model, Model], declare: Declare
    ) -> None:
        country, press, copy = world
        mirror = declare(copy, fields=["press__country__name"])
        country._base_manager.filter(code="de").update(name="Deutschland")
        assert [*assert_equal(mirror).values()] == [{"press__country__name": "Deutschland"}]
        press._base_manager.update(country="xx")
        assert "first" in str(assert_equal(mirror))

    def test_condition_behind_one_follows_its_row(self, world: tuple[Model, Model, Model], declare: Declare) -> None:
        country, press, _ = world
        mirror = declare(press, fields=["country_id"], where=Q(country__name="Germany"))
        country._base_manager.filter(code="de").update(name="Deutschland")
        [row] = press._base_manager.all()
        assert_equal(mirror)
        assert mirror.get(row.pk) is None

    @pytest.mark.parametrize("how", ["update", "replace"])
    def test_value_that_passes_to_another_row_is_followed(
        self, world: tuple[Model, Model, Model], declare: Declare, how: str
    ) -> None:
        country, press, copy = world
        mirror = declare(press, fields=["country__name"])
        chained = declare(copy, name="odd_copies", key="tkind_copies:{pk}", fields=["press__country__name"])
        with transaction.atomic():
            if how == "update":
                country._base_manager.filter(code="de").update(code="yy")
                country._base_manager.filter(code="xx").update(code="de")
            else:
                deleted = country._base_manager.filter(code="de")
                deleted._raw_delete(deleted.db)
                country._base_manager.create(code="de", name="new")
        name = "new" if how == "replace" else "first, so that no key is equal to another by chance"
        assert [*assert_equal(mirror).values()] == [{"country__name": name}]
        assert [*assert_equal(chained).values()] == [{"press__country__name": name}]

    def test_rows_that_point_at_another_column_are_refused(self, world: tuple[Model, Model, Model]) -> None:
        assert "mirrortest.Press.country does not point at a primary key" in refuse(world[0], fields=[Count("presses")])

    def test_one_to_one_relation_that_points_at_another_column_is_refused(self) -> None:
        class Land(Sample):
            code = models.CharField(max_length=2, unique=True)

        class Flag(Sample):
            land = models.OneToOneField(Land, models.CASCADE, to_field="code")
            colour = models.TextField()

        assert "mirrortest.Flag.land does not point at a primary key" in refuse(Land, fields=["flag__colour"])

    def test_foreign_key_without_a_constraint_is_refused(self) -> None:
        class Land(Sample):
            code = models.CharField(max_length=2, unique=True)
            name = models.TextField()

        class Town(Sample):
            land = models.ForeignKey(Land, models.DO_NOTHING, to_field="code", db_constraint=False)

        assert "mirrortest.Town.land has neither a constraint nor" in refuse(Town, fields=["land__name"])


class TestConditionsOnForeignKeys:
    @pytest.mark.parametrize("condition", ["isnull", "in", "gt"])
    def test_lookup_of_a_foreign_key_is_a_condition(self, condition: str, tables: Create, declare: Declare) -> None:
        class Rack(Sample):
            name = models.TextField()

        class Bottle(Sample):
            rack = models.ForeignKey(Rack, models.SET_NULL, null=True, related_name="bottles")

        tables(Rack, Bottle)
        low, high = (Rack._base_manager.create(name=name) for name in ("low", "high"))
        bottle = Bottle._base_manager.create(rack=low)
        where = {
            "isnull": Q(rack__isnull=True),
            "in": Q(rack__in=[high.pk]),
            "gt": Q(rack__gt=low.pk),
        }[condition]
        mirror = declare(Bottle, fields=["rack__name"], where=where)
        counting = declare(
            Rack, name="odd_racks", key="tkind_racks:{pk}", fields=[Count("bottles", where=Q(rack__isnull=False))]
        )
        assert mirror.get(bottle.pk) is None
        Bottle._base_manager.update(rack=None if condition == "isnull" else high)
        assert len(assert_equal(mirror)) == 1
        assert sum(record["bottles_count"] for record in assert_equal(counting).values()) == (condition != "isnull")
        Bottle._base_manager.update(rack=low)
        assert assert_equal(mirror) == {}

    def test_reverse_relation_that_is_missing_is_a_condition(self, tables: Create, declare: Declare) -> None:
        class Seat(Sample):
            name = models.TextField()

        class Guest(Sample):
            seat = models.OneToOneField(Seat, models.CASCADE)

        tables(Seat, Guest)
        seat = Seat._base_manager.create(name="s")
        mirror = declare(Seat, fields=["name"], where=Q(guest__isnull=True))
        Guest._base_manager.create(seat=seat)
        assert assert_equal(mirror) == {}
        Guest._base_manager.all().delete()
        assert len(assert_equal(mirror)) == 1

    def test_row_as_a_value_is_refused(self) -> None:
        class Rack(Sample):
            name = models.TextField()
            other = models.ForeignKey("self", models.CASCADE)

        for where in (Q(other=Rack(pk=1)), Q(other__in=[Rack(pk=1)])):
            registry._refused.clear()
            assert "use its primary key" in refuse(Rack, fields=["name"], where=where)


class TestReplacedRows:
    """A row that is deleted and created again in one transaction, while others point at it."""

    @pytest.mark.parametrize("how", ["deletion", "REPLACE"])
    def test_row_behind_a_foreign_key_is_followed(self, tables: Create, declare: Declare, how: str) -> None:
        class Poet(Sample):
            name = models.TextField()

        class Poem(Sample):
            writer = models.ForeignKey(Poet, models.CASCADE)

        class Print(Sample):
            poem = models.ForeignKey(Poem, models.CASCADE)

        tables(Poet, Poem, Print)
        before, after = (Poet._base_manager.create(name=name) for name in ("before", "after"))
        poem = Poem._base_manager.create(writer=before)
        Print._base_manager.create(poem=poem)
        mirror = declare(Poem, fields=["writer__name"])
        chained = declare(Print, name="odd_prints", key="tkind_prints:{pk}", fields=["poem__writer__name"])
        condition = declare(
            Print, name="odd_new", key="tkind_new:{pk}", fields=["poem_id"], where=Q(poem__writer__name="after")
        )
        for model, pk, column, value in ((Poet, before.pk, "name", "renamed"), (Poem, poem.pk, "writer_id", after.pk)):
            table = model._meta.db_table
            if how == "deletion":
                with transaction.atomic():
                    run(f"DELETE FROM {table} WHERE id = {pk}")
                    model._base_manager.create(pk=pk, **{column: value})
            elif connection.vendor == "sqlite":
                run(f"REPLACE INTO {table} (id, {column}) VALUES ({pk}, '{value}')")
            else:
                run(
                    f"INSERT INTO {table} (id, {column}) VALUES ({pk}, '{value}') "
                    f"ON CONFLICT (id) DO UPDATE SET {column} = EXCLUDED.{column}"
                )
            for made in (mirror, chained, condition):
                assert_equal(made)
        assert [*assert_equal(chained).values()] == [{"poem__writer__name": "after"}]
        assert len(assert_equal(condition)) == 1


class TestConditions:
    @pytest.fixture
    def shelves(self, tables: Create) -> tuple[Model, Model]:
        class Board(Sample):
            low = models.IntegerField(default=1)
            high = models.IntegerField(default=9)

        class Slot(Sample):
            board = models.ForeignKey(Board, models.CASCADE, related_name="slots")
            low = models.IntegerField(default=1)
            high = models.IntegerField(default=9)
            score = models.IntegerField(default=5)

        tables(Board, Slot)
        Slot._base_manager.create(board=Board._base_manager.create(low=5))
        return Board, Slot

    def test_a_column_in_a_list_is_watched(self, shelves: tuple[Model, Model], declare: Declare) -> None:
        board, _ = shelves
        mirror = declare(board, fields=["high"], where=Q(high__in=[F("low"), 9]))
        [row] = board._base_manager.all()
        board._base_manager.update(high=5)
        assert_equal(mirror)
        assert mirror.get(row.pk) == {"high": 5}
        board._base_manager.update(low=1)
        assert_equal(mirror)
        assert mirror.get(row.pk) is None

    def test_a_column_in_a_range_of_a_count_is_watched(self, shelves: tuple[Model, Model], declare: Declare) -> None:
        board, slot = shelves
        mirror = declare(board, fields=[Count("slots", where=Q(score__range=(F("low"), F("high"))))])
        slot._base_manager.update(high=2)
        assert [*assert_equal(mirror).values()] == [{"slots_count": 0}]

    @pytest.mark.parametrize("value", [Now(), [1, Now()], F("low") + 1, OuterRef("pk"), [OuterRef("pk")]], ids=str)
    def test_other_expressions_are_refused(self, shelves: tuple[Model, Model], value: object) -> None:
        lookup = "high__in" if isinstance(value, list) else "high"
        assert "use a plain value or F(field) alone" in refuse(shelves[0], fields=["low"], where=Q(**{lookup: value}))

    def test_a_slice_of_a_column_in_a_count_is_refused(self, shelves: tuple[Model, Model]) -> None:
        where = Q(score=F("low")[0:3])
        assert "use a plain value or F(field) alone" in refuse(shelves[0], fields=[Count("slots", where=where)])


class TestReverseOneToOneRelations:
    def test_two_of_them_with_keys_of_their_own_are_refused(self) -> None:
        class First(Sample):
            pass

        class Second(Sample):
            first = models.OneToOneField(First, models.CASCADE)

        class Third(Sample):
            second = models.OneToOneField(Second, models.CASCADE)
            name = models.TextField()

        assert "mirror mirrortest.Second instead" in refuse(First, fields=["second__third__name"])

    def test_two_of_them_that_share_the_key_are_captured(self, tables: Create, declare: Declare) -> None:
        class Base(Sample):
            pass

        class Middle(Sample):
            base = models.OneToOneField(Base, models.CASCADE, primary_key=True)

        class Last(Sample):
            middle = models.OneToOneField(Middle, models.CASCADE)
            name = models.TextField()

        tables(Base, Middle, Last)
        Base._base_manager.create()
        base = Base._base_manager.create()
        mirror = declare(Base, fields=["middle__last__name"])
        last = Last._base_manager.create(middle=Middle._base_manager.create(base=base), name="a")
        assert assert_equal(mirror)[str(base.pk)] == {"middle__last__name": "a"}
        Last._base_manager.update(name="b")
        assert assert_equal(mirror)[str(base.pk)] == {"middle__last__name": "b"}
        last.delete()
        assert assert_equal(mirror)[str(base.pk)] == {"middle__last__name": None}
