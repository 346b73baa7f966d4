"""Foreign keys with ``to_field``, and in conditions: a mirror is equal to SQL after every write, or is refused."""

import pytest
from django.db import models
from django.db.models import Q

from mirror import Column, Count, registry
from tests.support.mirror.schemas import Create, Declare, Model, Sample, assert_equal, refuse

pytestmark = pytest.mark.usefixtures("own_registry", "committed", "no_hints", "isolated")


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
